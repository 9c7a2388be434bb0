# A disk in use is refused, whoever uses it, and the user is named; when it is free again, the same write works.
. /lab/lib.sh
modprobe virtio_pci
modprobe virtio_blk
modprobe sd_mod
modprobe ahci
modprobe loop
modprobe dm_mod
modprobe raid1
modprobe nvme
await sda
await vda
await nvme0n1

# A disk that nobody uses and one that is an array already, for --all.
mdadm --create /dev/md5 --run --metadata=1.2 --level=1 --raid-devices=2 /dev/vda missing
await md5
alignck --all --json > /tmp/all
value "all" "$(one_line < /tmp/all)"
mdadm --stop /dev/md5

new_table() {
    sfdisk --wipe always --wipe-partitions always --quiet /dev/sda < /lab/table
    alignck plan /dev/sda --table gpt --size 5M --size rest --json > /tmp/plan
    keep_bytes sda
}

# refused NAME TEXT: apply is refused and says the text; nothing was written.
refused() {
    dd if=/dev/sda of=/tmp/before bs=1M count=1 iflag=direct 2> /dev/null
    alignck apply --yes /tmp/plan /dev/sda > /tmp/said 2>&1
    is "$1: refused" $? 2
    says "$1: named" /tmp/said "$2"
    dd if=/dev/sda of=/tmp/after bs=1M count=1 iflag=direct 2> /dev/null
    cmp /tmp/before /tmp/after
    is "$1: the table is untouched" $? 0
}

new_table
mkswap /dev/sda1 > /dev/null
swapon /dev/sda1
refused "swap" "/dev/sda1 is used as swap"
swapoff /dev/sda1

dmsetup create lab-linear --table "0 8192 linear /dev/sda2 0"
refused "a volume on a partition" "/dev/sda2 is part of the volume lab-linear (dm-0)"
dmsetup remove lab-linear

# Without udev the tools of LVM make the nodes themselves.
lvm="lvm"
config='devices { use_devicesfile=0 obtain_device_list_from_udev=0 } activation { udev_sync=0 udev_rules=0 } backup { backup=0 archive=0 } global { locking_type=1 }'
$lvm pvcreate --config "$config" --quiet --yes /dev/sda2 && $lvm vgcreate --config "$config" --quiet labgroup /dev/sda2 &&
    $lvm lvcreate --config "$config" --quiet --yes --zero n --wipesignatures n --extents 1 --name data labgroup
is "LVM: a volume is made" $? 0
refused "LVM" "/dev/sda2 is part of the volume labgroup-data (dm-0)"
$lvm vgchange --config "$config" --activate n labgroup

new_table
mdadm --create /dev/md7 --run --metadata=1.2 --level=1 --raid-devices=2 /dev/sda1 missing
await md7
refused "an md array on a partition" "/dev/sda1 is part of the md array md7"
mdadm --stop /dev/md7

losetup /dev/loop0 /dev/sda3
refused "a loop device on a partition" "/dev/sda3 is attached as /dev/loop0"
losetup --detach /dev/loop0

# The whole disk below a volume.
dd if=/dev/zero of=/dev/sda bs=1M count=1 2> /dev/null
blockdev --rereadpt /dev/sda
alignck plan /dev/sda --table gpt --size 5M --size rest --json > /tmp/plan
dmsetup create lab-whole --table "0 65536 linear /dev/sda 0"
refused "a volume on the whole disk" "/dev/sda is part of the volume lab-whole (dm-0)"
dmsetup remove lab-whole

# The volume itself is a disk as any other, until something is on top of it.
dmsetup create lab-below --table "0 65536 linear /dev/vda 0"
dmsetup create lab-above --table "0 8192 linear /dev/mapper/lab-below 4096"
alignck plan /dev/mapper/lab-below --table gpt --size 5M --json > /tmp/plan-of-volume
alignck apply --yes /tmp/plan-of-volume /dev/mapper/lab-below > /tmp/said 2>&1
is "a volume below another: refused" $? 2
says "a volume below another: named" /tmp/said "part of the volume lab-above"
dmsetup remove lab-above
alignck apply --yes /tmp/plan-of-volume /dev/mapper/lab-below > /tmp/said 2>&1
is "the same volume, free again" $? 0
cat /tmp/said

# A read-only disk.
blockdev --setro /dev/sda
refused "a read-only disk" "/dev/sda: is read-only"
blockdev --setrw /dev/sda

alignck apply --yes /tmp/plan /dev/sda > /tmp/said 2>&1
is "free again: apply" $? 0
cat /tmp/said
value "free" "$(partitions sda)"
