# Partitions that are in use are not moved; beside them others are. Members of volume groups and arrays move when these
# are not active, and are found again.
. /lab/lib.sh
modprobe virtio_pci
modprobe virtio_blk
modprobe ext4
modprobe dm_mod
modprobe raid1
await vda
await vdb
await vdc
mkdir /beside /keep
mke2fs -q -F -t ext4 /dev/vdc
mount -t ext4 /dev/vdc /keep
export XDG_STATE_HOME=/keep

# Without udev the tools of LVM make the nodes themselves.
config='devices { use_devicesfile=0 obtain_device_list_from_udev=0 } activation { udev_sync=0 udev_rules=0 } backup { backup=0 archive=0 } global { locking_type=1 }'

# fill DEVICE: a file system with files; their checksum is kept.
fill() {
    mke2fs -q -F -t ext4 "$1"
    mount -t ext4 "$1" /mnt
    for file in 1 2 3 4 5; do (echo $file && cat /lab/noise) > /mnt/$file; done
    sums > "/tmp/sums-of-${1##*/}"
    umount /mnt
}
sums() { (cd /mnt && md5sum [1-5]); }

# whole NAME DEVICE: its files are there, and the file system has no fault.
whole() {
    e2fsck -f -n "$2" > /tmp/said 2>&1
    is "$1: e2fsck" $? 0
    mount -t ext4 -o ro "$2" /mnt
    is "$1: mounted" $? 0
    is "$1: its files" "$(sums)" "$(cat "/tmp/sums-of-${2##*/}")"
    umount /mnt
}

# refused NAME OPTIONS TEXT...: the move is refused and says the texts; nothing was written.
refused() {
    name=$1
    options=$2
    shift 2
    alignck fix --yes $options /dev/vda > /tmp/said 2>&1
    is "$name: refused" $? 2
    for text in "$@"; do says "$name: named" /tmp/said "$text"; done
    same_bytes "$name: nothing was written" vda
}

sfdisk --wipe always --wipe-partitions always --quiet /dev/vda < /lab/table
fill /dev/vda1
fill /dev/vda2
lvm pvcreate --config "$config" --quiet --yes /dev/vda3 && lvm vgcreate --config "$config" --quiet labgroup /dev/vda3 &&
    lvm lvcreate --config "$config" --quiet --yes --zero n --wipesignatures n --size 8M --name data labgroup
is "a volume on partition 3" $? 0
fill /dev/mapper/labgroup-data
mdadm --create /dev/md7 --run --metadata=1.2 --level=1 --raid-devices=2 /dev/vda4 /dev/vdb 2> /dev/null
await md7
mdadm --wait /dev/md7
fill /dev/md7
mkswap /dev/vda5 > /dev/null
swapon /dev/vda5
is "partition 5 is swap" $? 0
# Read-only at first: else its file system writes a little later.
mount -t ext4 -o ro /dev/vda1 /beside
value "before" "$(partitions vda)"

# In use, all of them but one.
alignck /dev/vda > /tmp/said 2>&1
is "a check" $? 1
sleep 1
keep_bytes vda
mounted="/dev/vda1 is mounted on /beside"
volume="/dev/vda3 is part of the volume labgroup-data"
array="/dev/vda4 is part of the md array md7"
swap="/dev/vda5 is used as swap"
refused "all" "" "$mounted" "$volume" "$array" "$swap"
refused "a mounted partition" "--partition 1" "$mounted"
refused "a physical volume" "--partition 3" "$volume"
refused "a member of an array" "--partition 4" "$array"
refused "swap" "--partition 5" "$swap"

# The one that nobody uses.
mount -o remount,rw /beside
(while [ -d /beside/lost+found ]; do echo busy >> /beside/log; sleep 0.1; done 2> /dev/null) &
busy=$!
alignck fix --yes --partition 2 /dev/vda > /tmp/said 2>&1
is "the one that nobody uses: it says '$(tail -n 3 /tmp/said | one_line)'" $? 0
value "beside" "$(partitions vda)"
is "the mounted one is mounted" "$(grep -c '^/dev/vda1 /beside ext4 rw' /proc/mounts)" 1
lines=$(wc -l < /beside/log)
sleep 1
is "the mounted one is written to" "$([ "$(wc -l < /beside/log)" -gt "$lines" ] && echo yes)" yes
kill $busy
wait $busy 2> /dev/null
is "the swap is in use" "$(grep -c '^/dev/vda5 ' /proc/swaps)" 1
umount /beside
whole "moved beside a mount" /dev/vda2
whole "mounted beside a move" /dev/vda1
whole "a volume beside a move" /dev/mapper/labgroup-data
whole "an array beside a move" /dev/md7

# Now that one is in use, and no other.
lvm vgchange --config "$config" --quiet -a n labgroup
is "the group is not active" $? 0
mdadm --stop /dev/md7 2> /dev/null
is "the array is stopped" $? 0
swapoff /dev/vda5
mount -t ext4 /dev/vda2 /beside
alignck fix --yes /dev/vda > /tmp/said 2>&1
is "all others: it says '$(tail -n 3 /tmp/said | one_line)'" $? 0
value "after" "$(partitions vda)"
is "the one in its place is mounted" "$(grep -c '^/dev/vda2 /beside ext4 rw' /proc/mounts)" 1
umount /beside
blockdev --rereadpt /dev/vda
value "reread" "$(partitions vda)"
alignck /dev/vda > /tmp/said 2>&1
is "a check of what has moved" $? 0
whole "moved when it was not mounted" /dev/vda1
whole "in its place" /dev/vda2
lvm pvscan --config "$config" > /tmp/said 2>&1
says "pvscan finds the physical volume" /tmp/said "/dev/vda3"
lvm vgchange --config "$config" --quiet -a y labgroup
is "the group is active" $? 0
whole "the volume" /dev/mapper/labgroup-data
mdadm --assemble /dev/md7 /dev/vda4 /dev/vdb 2> /dev/null
is "the array is assembled" $? 0
await md7
is "both are in the array" "$(grep -c '\[UU\]' /proc/mdstat)" 1
whole "the array" /dev/md7
echo check > /sys/block/md7/md/sync_action
mdadm --wait /dev/md7
is "what differs between both" "$(cat /sys/block/md7/md/mismatch_cnt)" 0
swapon /dev/vda5
is "the swap is used again" $? 0
