# Somebody has a partition open, not exclusively: the kernel then keeps it, and nothing shows it beforehand.
. /lab/lib.sh
modprobe virtio_pci
modprobe sd_mod
modprobe ahci
await sda

for table in gpt mbr; do
    sfdisk --wipe always --quiet /dev/sda < /lab/table
    before=$(partitions sda)
    alignck plan /dev/sda --table $table --size 6M --size 7M --size 8M --json > /tmp/plan
    value "plan/$table" "$(one_line < /tmp/plan)"
    exec 9< /dev/sda1
    alignck apply --yes --backup /tmp/$table.backup /tmp/plan /dev/sda > /tmp/said 2>&1
    is "$table: apply while partition 1 is open" $? 4
    cat /tmp/said
    value "open/$table" "$(partitions sda)"
    value "sfdisk/$table" "$(sfdisk --json /dev/sda | one_line)"
    alignck --json /dev/sda > /tmp/check
    value "check/$table" "$(one_line < /tmp/check)"
    exec 9<&-
    blockdev --rereadpt /dev/sda
    value "closed/$table" "$(partitions sda)"
    alignck /dev/sda > /tmp/said
    is "$table: a check when the kernel has the new table" $? 0
    alignck undo --yes /dev/sda /tmp/$table.backup > /tmp/said 2>&1
    is "$table: undo" $? 0
    is "$table: the kernel's partitions after undo" "$(partitions sda)" "$before"
done
