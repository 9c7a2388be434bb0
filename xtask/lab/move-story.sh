# A file system begins at sector 63 and is written to; it moves, and is written to again. Reads of marks in free space
# tell the drive's log which part of it belongs to what.
. /lab/lib.sh
modprobe virtio_pci
modprobe sd_mod
modprobe virtio_scsi
modprobe ext4
await sda
export XDG_STATE_HOME=/run/state

mark=0
mark() {
    dd if=/dev/sda of=/dev/null bs=4096 skip=$((150000 + mark)) count=1 iflag=direct 2> /dev/null
    mark=$((mark + 1))
}

now() { cut -d ' ' -f 1 /proc/uptime; }
since() { awk "BEGIN { print $(now) - $1 }"; }
sums() { (cd /mnt/kept && md5sum *); }

# rounds NAME: files are written, measured, and taken away again.
rounds() {
    mount -t ext4 /dev/sda1 /mnt
    is "$1: mounted" $? 0
    for pass in $(seq $(cat /lab/passes)); do
        sync
        echo 3 > /proc/sys/vm/drop_caches
        mark
        begun=$(now)
        for file in 1 2 3; do dd if=/dev/zero of=/mnt/large$file bs=1M count=64 2> /dev/null; done
        for file in $(seq 300); do echo "small $file" > /mnt/small$file; done
        sync
        value "seconds/$1/$pass" "$(since $begun)"
        mark
        rm /mnt/large* /mnt/small*
        sync
    done
}

echo "start=63,size=1000000,type=83" | sfdisk --quiet --wipe always --label dos /dev/sda
mke2fs -q -F -b 4096 -t ext4 -E lazy_itable_init=0,lazy_journal_init=0 /dev/sda1
mount -t ext4 /dev/sda1 /mnt
mkdir /mnt/kept
for file in $(seq 20); do (echo $file && cat /lab/noise) > /mnt/kept/$file; done
sums > /tmp/sums
umount /mnt

value "partitions/before" "$(partitions sda)"
alignck /dev/sda > /tmp/said 2>&1
is "a check before" $? 1
says "its verdict" /tmp/said "/dev/sda: misaligned"
rounds before
alignck fix --yes /dev/sda > /tmp/said 2>&1
is "a move of what is mounted" $? 2
umount /mnt

mark
begun=$(now)
alignck fix --yes /dev/sda > /tmp/said 2>&1
is "the move: it says '$(tail -n 3 /tmp/said | one_line)'" $? 0
value "seconds/move" "$(since $begun)"
mark

value "partitions/after" "$(partitions sda)"
alignck /dev/sda > /tmp/said 2>&1
is "a check after" $? 0
says "its verdict then" /tmp/said "/dev/sda: aligned"
e2fsck -f -n /dev/sda1 > /tmp/said 2>&1
is "e2fsck after the move" $? 0
rounds after
is "the files that were there" "$(sums)" "$(cat /tmp/sums)"
umount /mnt
