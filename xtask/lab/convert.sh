# Disks whose tables are converted between two boots: what the kernel and the other tools see of them. The steps are in
# /lab/steps, line by line.
. /lab/lib.sh
modprobe virtio_pci
modprobe virtio_scsi
modprobe sd_mod
modprobe nvme
modprobe nls_cp437
modprobe nls_ascii
modprobe ext4
modprobe vfat
modprobe xfs

sums() { (cd "$1" && md5sum * | sort); }

# make DISK: file systems with files, on partitions that are there.
make() {
    key=$1
    for file in /lab/fs-$key-*; do
        number=${file##*-}
        node=$(node_of $disk $number)
        case $(cat $file) in
            ext4) mke2fs -q -F -b 4096 -t ext4 $node ;;
            vfat) mkfs.vfat $node > /dev/null ;;
            xfs) mkfs.xfs -q -f -s size=512 $node ;;
        esac
        mount -t $(cat $file) $node /mnt
        is "$key: partition $number is mounted" $? 0
        for name in 1 2 3 4 5; do dd if=/dev/urandom of=/mnt/$name bs=10000 count=$name 2> /dev/null; done
        value "sums/$key/$number" "$(sums /mnt | tr '\n' ';')"
        umount /mnt
    done
}

# see DISK: what is there, by everybody.
see() {
    key=$1
    value "kernel/$key" "$(partitions $disk)"
    value "sfdisk/$key" "$(sfdisk --json /dev/$disk | one_line)"
    value "parted/$key" "$(parted --script --machine /dev/$disk unit B print | tr -d '\n')"
    alignck --json /dev/$disk > /tmp/said
    value "check/$key" "$(one_line < /tmp/said)"
    for file in /lab/fs-$key-*; do
        number=${file##*-}
        options=ro
        [ "$(cat $file)" = vfat ] || options=ro,norecovery
        if mount -t $(cat $file) -o $options $(node_of $disk $number) /mnt 2> /dev/null; then
            value "sums/$key/$number" "$(sums /mnt | tr '\n' ';')"
            umount /mnt
        else
            value "sums/$key/$number" "refused"
        fi
    done
}

# here DISK: converted where it would vanish.
here() {
    key=$1 to=$2
    keep_bytes $disk
    before=$(partitions $disk)
    alignck convert --yes --to $to /dev/$disk > /tmp/said 2>&1
    is "$key: refused for sectors that the device does not have" $? 2
    says "$key: what would happen" /tmp/said "--force"
    same_bytes "$key: the bytes after it was refused" $disk
    alignck convert --yes --force --backup /tmp/$key.backup --to $to /dev/$disk > /tmp/said 2>&1
    is "$key: forced" $? 0
    cat /tmp/said
    alignck --json /dev/$disk > /tmp/said
    value "forced/$key" "$(one_line < /tmp/said)"
    alignck undo --yes /dev/$disk /tmp/$key.backup > /tmp/said 2>&1
    is "$key: undo" $? 0
    cat /tmp/said
    same_bytes "$key: the bytes after undo" $disk
    is "$key: the kernel's partitions after undo" "$(partitions $disk)" "$before"
    rm /tmp/bytes-of-$disk
}

node_of() { case $1 in nvme*) echo /dev/$1p$2 ;; *) echo /dev/$1$2 ;; esac; }

while read -r step key argument; do
    disk=$(disk_of lab-$key)
    case $step in
        table) sfdisk --quiet --wipe always /dev/$disk < /lab/table-$key || fail "$key" "sfdisk does not write it" ;;
        make) make $key ;;
        see) see $key ;;
        here) here $key $argument ;;
    esac
done < /lab/steps
