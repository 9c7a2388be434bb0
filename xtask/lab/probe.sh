# The physical sectors of drives of which the insides are known, found by timing; and nothing else changes on them.
. /lab/lib.sh
modprobe virtio_pci
modprobe sd_mod
modprobe virtio_scsi
modprobe ext4
await sda

for name in lying jumpered large plain native; do
    disk=$(disk_named $name)
    dd if=/dev/urandom of=/dev/$disk bs=1M count=16 2> /dev/null
    # Begins 3584 bytes past a sector of 4096 bytes on all drives but the jumpered.
    echo "start=63,size=20000" | sfdisk --quiet --wipe always --label dos /dev/$disk 2> /dev/null
    keep_bytes $disk
    value "limits/$name" "$(limits $disk)"
    alignck probe --write --yes --json /dev/$disk > /tmp/said 2> /dev/null
    is "$name: its exit code" $? 0
    value "probe/$name" "$(one_line < /tmp/said)"
    same_bytes "$name: the bytes after it" $disk
done

# Killed after so many writes.
disk=$(disk_named lying)
writes() { read -r _ _ _ _ writes _ < /sys/block/$disk/stat; }
for count in 1 150 500; do
    writes
    before=$writes
    alignck probe --write --yes /dev/$disk > /dev/null 2>&1 &
    process=$!
    while [ $((writes - before)) -lt $count ] && [ -d /proc/$process ]; do writes; done
    kill -9 $process
    is "killed after $count writes" $? 0
    wait $process 2> /dev/null
    same_bytes "the bytes after $count writes" "$disk"
done

# A disk in use.
for start in 63 64; do
    echo "start=$start,size=30000" | sfdisk --quiet --wipe always --wipe-partitions always --label dos /dev/$disk
    mke2fs -q -F -b 4096 -t ext4 /dev/${disk}1
    mount /dev/${disk}1 /mnt
    dd if=/dev/urandom of=/mnt/scratch bs=1M count=8 conv=fsync 2> /dev/null
    before=$(md5sum < /mnt/scratch)
    alignck probe --write --yes /dev/$disk > /tmp/said 2>&1
    is "mounted: refused" $? 2
    says "mounted: named" /tmp/said "/dev/${disk}1 is mounted on /mnt"
    # What a file on it shows: where its file system lies.
    alignck probe --write --yes --json /mnt/scratch > /tmp/said 2> /dev/null
    is "a scratch file at $start: its exit code" $? 0
    value "scratch/$start" "$(one_line < /tmp/said)"
    is "a scratch file at $start: its bytes" "$(md5sum < /mnt/scratch)" "$before"
    umount /mnt
done
blockdev --setro /dev/$disk
alignck probe --write --yes /dev/$disk > /tmp/said 2>&1
is "read-only: refused" $? 2
says "read-only: named" /tmp/said "read-only"
