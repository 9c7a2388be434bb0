# Asks every drive what it is: as root, and as somebody who may read the disk but not ask it. Drives are told apart by
# their sizes, since the kernel finds them in any order.
. /lab/lib.sh
modprobe virtio_pci
modprobe virtio_scsi
modprobe sd_mod
modprobe ahci
modprobe nvme
modprobe usb_storage delay_use=0
modprobe uas
modprobe xhci_pci
mount -t tracefs trace /sys/kernel/tracing
trace=/sys/kernel/tracing

# What goes to SCSI devices, and each request that waits for an answer.
echo 1 > $trace/events/scsi/scsi_dispatch_cmd_start/enable
echo 'comm == "alignck"' > $trace/events/syscalls/sys_enter_ioctl/filter
echo 'comm == "alignck"' > $trace/events/syscalls/sys_exit_ioctl/filter
echo 1 > $trace/events/syscalls/sys_enter_ioctl/enable
echo 1 > $trace/events/syscalls/sys_exit_ioctl/enable

# The operation codes that went to the disk, with the page of an INQUIRY and the action of a SERVICE ACTION IN.
commands() {
    sed -n 's/.* raw=\(.*\)).*/\1/p' "$1" |
        awk '{ code = $1 }
            $1 == "12" { code = $1 "/" $3 }
            $1 == "9e" { code = $1 "/" $2 }
            $1 == "85" { code = $1 "/" $15 }
            !seen[code]++ { print code }' | sort | tr '\n' ' '
}

# How long the requests SG_IO and NVME_IOCTL_ADMIN_CMD took together, and how many there were.
asked() {
    awk '{ for (at = 1; at <= NF; at++) if ($at ~ /^[0-9]+\.[0-9]+:$/) now = $at + 0 }
        /sys_ioctl\(/ { begun = /cmd: (2285|c0484e41)/ ? now : 0 }
        /sys_ioctl -> / && begun { sum += now - begun; count++; begun = 0 }
        END { printf "%d %d\n", count, sum * 1000000 + 0.5 }' "$1"
}

# look NAME DISK: all that there is to know of a disk.
look() {
    value "limits/$1" "$(limits "$2")"
    value "rotational/$1" "$(cat "/sys/block/$2/queue/rotational")"
    echo "start=63,size=1000" | sfdisk --quiet --label dos --wipe always "/dev/$2"
    for pass in 1 2 3; do
        echo > $trace/trace
        echo 1 > $trace/tracing_on
        alignck --json "/dev/$2" > /tmp/check
        echo 0 > $trace/tracing_on
        cat $trace/trace > /tmp/trace
        asked /tmp/trace
    done | sort -n -k 2 > /tmp/asked
    value "check/$1" "$(one_line < /tmp/check)"
    value "commands/$1" "$(commands /tmp/trace)"
    # The quickest of three.
    value "asked/$1" "$(head -n 1 /tmp/asked)"
    chmod 644 "/dev/$2"
    setpriv --reuid=1000 --regid=1000 --clear-groups alignck --json "/dev/$2" > /tmp/check
    value "user/$1" "$(one_line < /tmp/check)"
    chmod 600 "/dev/$2"
}

echo 0 > $trace/tracing_on
while read -r name sectors hide; do
    disk=$(disk_of "$sectors")
    # As with a kernel that does not keep the answer of an ATA drive.
    [ -n "$hide" ] && mount --bind /dev/null "/sys/block/$disk/device/vpd_pg89"
    look "$name" "$disk"
done < /lab/drives

# As many kinds as its options allow, one after the other.
while read -r name options; do
    modprobe scsi_debug dev_size_mb=8 $options
    look "$name" "$(disk_of 16384)"
    rmmod scsi_debug
done < /lab/debug-drives

# A disk that may not even be read: the kernel's word is left, and what it has of the drive's.
disk=$(disk_of "$(sed -n 's/^sata-512e \([0-9]*\).*/\1/p' /lab/drives)")
setpriv --reuid=1000 --regid=1000 --clear-groups alignck --json "/dev/$disk" > /tmp/check
value "unreadable" "$(one_line < /tmp/check)"
