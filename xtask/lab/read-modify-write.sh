# Small and large files on each file system, on partitions that begin at sector 63 and at 64. Reads of marks at the end
# of the disk tell the drive's log which part of it belongs to what.
. /lab/lib.sh
modprobe virtio_pci
modprobe sd_mod
modprobe virtio_scsi
modprobe nls_cp437
modprobe nls_ascii
modprobe vfat
modprobe ext4
modprobe xfs
await sda

mark=0
mark() {
    dd if=/dev/sda of=/dev/null bs=4096 skip=$((260000 + mark)) count=1 iflag=direct 2> /dev/null
    mark=$((mark + 1))
}

for pass in $(seq $(cat /lab/passes)); do
    for start in 63 64; do
        echo "start=$start,size=1900000" | sfdisk --quiet --wipe always --label dos /dev/sda
        if [ "$pass" = 1 ]; then
            value "check/$start" "$(alignck --json /dev/sda | one_line)"
            value "kernel/$start" "$(partitions sda)"
        fi
        for fs in ext2 ext3 ext4 vfat xfs; do
            case $fs in
                vfat) mkfs.vfat -F 32 /dev/sda1 > /dev/null ;;
                xfs) mkfs.xfs -q -f /dev/sda1 ;;
                *) mke2fs -q -F -b 4096 -t $fs /dev/sda1 ;;
            esac
            mount -t $fs /dev/sda1 /mnt
            is "$fs at $start: mounted" $? 0
            sync
            echo 3 > /proc/sys/vm/drop_caches
            mark
            begun=$(cut -d ' ' -f 1 /proc/uptime)
            for file in 1 2 3; do dd if=/dev/zero of=/mnt/large$file bs=1M count=64 2> /dev/null; done
            for file in $(seq 300); do echo "small $file" > /mnt/small$file; done
            sync
            ended=$(cut -d ' ' -f 1 /proc/uptime)
            mark
            umount /mnt
            value "seconds/$fs/$start/$pass" "$(awk "BEGIN { print $ended - $begun }")"
        done
    done
done
