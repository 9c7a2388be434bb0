# What drives say of themselves when they are asked past the kernel: SATA, SCSI, NVMe, and two behind USB.
. /lab/lib.sh
modprobe virtio_pci
modprobe virtio_scsi
modprobe sd_mod
modprobe ahci
modprobe nvme
modprobe xhci_pci
modprobe usb_storage
modprobe uas
modprobe scsi_debug dev_size_mb=8 sector_size=512 physblk_exp=3 lowest_aligned=7
await nvme1n1

for word in $(cat /lab/drives); do
    key=${word%%=*} text=${word#*=}
    disk=$(disk_of "$text")
    value "limits/$key" "$(limits "$disk") $(cat "/sys/block/$disk/queue/rotational")"
    alignck --json "/dev/$disk" > /tmp/said
    value "check/$key" "$(one_line < /tmp/said)"
    cmp "/dev/$disk" /dev/zero 2> /dev/null
    is "$key: nothing was written" "$(tr -d '\0' < "/dev/$disk" | wc -c)" 0
done

# Somebody who may read the disk, but may not send commands to it. (What SATA and SCSI disks say, the kernel tells
# everybody.)
disk=$(disk_of lab-nvme-512)
nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
chmod o+r "/dev/$disk"
$nobody alignck --json "/dev/$disk" > /tmp/said
is "without root: the exit code" $? 0
value "check/nobody" "$(one_line < /tmp/said)"
$nobody alignck "/dev/$disk" > /tmp/said
cat /tmp/said
says "without root: what was not read" /tmp/said "not permitted"

# How long the questions take, each measured from outside.
for key in lab-512e lab-scsi-512e lab-nvme-512; do
    strace -f -T -e trace=ioctl -o /tmp/trace alignck "/dev/$(disk_of $key)" > /dev/null
    cat /tmp/trace
    value "questions/$key" "$(sed -n 's/.*\(SG_IO\|NVME_IOCTL_ADMIN_CMD\).*<\([0-9.]*\)>$/\2/p' /tmp/trace | tr '\n' ' ')"
done
