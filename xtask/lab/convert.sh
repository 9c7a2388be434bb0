# Disks that move between a place where they have sectors of 512 bytes and one where they have 4096. First they are made,
# converted, and taken back; in another machine they have the other sectors.
. /lab/lib.sh
modprobe virtio_pci
modprobe virtio_blk
modprobe virtio_scsi
modprobe sd_mod
modprobe ahci
modprobe nvme
modprobe nls_cp437
modprobe nls_ascii
modprobe vfat
modprobe ext4
modprobe xfs
export XDG_STATE_HOME=/tmp/state

# node NUMBER: the kernel's partition of the disk.
node() { case $disk in nvme*) echo "/dev/${disk}p$1" ;; *) echo "/dev/$disk$1" ;; esac; }

# make_file_system NUMBER KIND: with files, and their checksums among them.
make_file_system() {
    case $2 in
        ext4) mke2fs -q -F -t ext4 -b 4096 "$(node $1)" ;;
        ext4-1k) mke2fs -q -F -t ext4 -b 1024 "$(node $1)" ;;
        # Its own minimum is larger than these disks.
        xfs) mkfs.xfs -q -f --unsupported -s size=$logical "$(node $1)" ;;
        vfat) mkfs.vfat "$(node $1)" > /dev/null ;;
        raw) dd if=/dev/urandom of="$(node $1)" bs=4096 2> /dev/null; return ;;
    esac
    is "$name: a file system $2 on partition $1" $? 0
    mount -t "${2%-1k}" "$(node $1)" /mnt
    is "$name: it is mounted" $? 0
    dd if=/dev/urandom of=/mnt/large bs=100k count=7 2> /dev/null
    for file in $(seq 20); do echo "file $file" > /mnt/small$file; done
    (cd /mnt && md5sum large small* > sums)
    umount /mnt
}

# mount_again NUMBER KIND: whether the kernel mounts it and every file is as it was, or what it complains of.
mount_again() {
    [ "$2" = raw ] && return
    dmesg -c > /dev/null
    # Without a byte written, and with a word of the kernel where it refuses.
    options=ro,loud
    [ "$2" = xfs ] && options=$options,norecovery
    if mount -t "${2%-1k}" -o $options "$(node $1)" /mnt; then
        (cd /mnt && md5sum -c sums > /dev/null)
        value "mount/$name/$1" "$2 mounted $?"
        umount /mnt
    else
        value "mount/$name/$1" "$2 refused $(dmesg -c | tr '\n' ' ')"
    fi
}

checksums() {
    for pair in $contents; do md5sum < "$(node ${pair%%:*})" | cut -c 1-32; done | tr '\n' ' '
}

make() {
    case $tool in
        alignck)
            alignck plan "/dev/$disk" --table $table $(cat "/lab/$name") --json > /tmp/plan
            is "$name: plan" $? 0
            alignck apply --yes /tmp/plan "/dev/$disk"
            is "$name: apply" $? 0
            ;;
        sfdisk) sfdisk --quiet --wipe always "/dev/$disk" < "/lab/$name" ;;
    esac
    for pair in $contents; do make_file_system "${pair%%:*}" "${pair#*:}"; done
    sync
    partitions "$disk" > /tmp/made
    value "made/$name" "$(cat /tmp/made)"
    value "checksums/$name" "$(checksums)"
    keep_bytes "$disk"
    alignck convert --yes --to $other "/dev/$disk" > /tmp/said 2>&1
    is "$name: converted for sectors that this device has not: refused" $? 2
    says "$name: the way out" /tmp/said "--force"
    alignck convert --yes --force --to $other "/dev/$disk" > /tmp/said 2>&1
    is "$name: converted with --force" $? 0
    cat /tmp/said
    value "forced/$name" "$(alignck --json "/dev/$disk" | one_line)"
    alignck undo --yes --json "/dev/$disk" > /tmp/said
    is "$name: undo" $? 0
    is "$name: partitions that the undo calls lost" "$(grep -c 'holds* is lost' /tmp/said)" 0
    same_bytes "$name: the bytes after undo" "$disk"
    is "$name: the kernel's partitions after undo" "$(partitions "$disk")" "$(cat /tmp/made)"
    rm "/tmp/bytes-of-$disk"
}

moved() {
    if [ "$by" = device ]; then
        alignck convert --yes --json --to $logical "/dev/$disk" > /tmp/said
        is "$name: converted where it has these sectors" $? 0
        value "convert/$name" "$(one_line < /tmp/said)"
    fi
    value "kernel/$name" "$(partitions "$disk")"
    value "sfdisk/$name" "$(sfdisk --json "/dev/$disk" | one_line)"
    value "verify/$name" "$(sfdisk --verify "/dev/$disk" 2>&1 | tr '\n' ' ')"
    value "parted/$name" "$(parted --machine --script "/dev/$disk" unit B print 2>&1 | tr -d '\n')"
    value "lsblk/$name" "$(lsblk --bytes --json --output NAME,START,SIZE "/dev/$disk" | one_line)"
    value "moved-checksums/$name" "$(checksums)"
    for pair in $contents; do mount_again "${pair%%:*}" "${pair#*:}"; done
    value "check/$name" "$(alignck --json "/dev/$disk" | one_line)"
    alignck convert --yes --force --to $other "/dev/$disk" > /tmp/said 2>&1
    is "$name: converted back with --force" $? 0
    cat /tmp/said
    value "back/$name" "$(alignck --json "/dev/$disk" | one_line)"
}

while read -r name sectors table tool by contents; do
    disk=$(disk_of "$sectors")
    logical=$(cat "/sys/block/$disk/queue/logical_block_size")
    other=$((512 + 4096 - logical))
    case $(cat /lab/stage) in
        make) make ;;
        moved) moved ;;
    esac
done < /lab/disks
