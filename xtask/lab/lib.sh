# What the scripts of the lab share. Results are lines on the second serial port; all else is for people and goes to
# the console, which is kept beside the disks of the scenario.
exec 3> /dev/ttyS1

ok() { echo "LAB ok $1" >&3; }
fail() { echo "LAB FAIL $1: $2" >&3; }
value() { echo "LAB value $1 $2" >&3; }

# is NAME FOUND EXPECTED
is() { if [ "$2" = "$3" ]; then ok "$1"; else fail "$1" "it is '$2', expected '$3'"; fi; }

# says NAME FILE TEXT: the file has the text in it.
says() { if grep -qF -- "$3" "$2"; then ok "$1"; else fail "$1" "'$3' is not in: $(tr '\n' ' ' < "$2")"; fi; }

# Many lines of JSON as one.
one_line() { sed 's/^ *//' | tr -d '\n'; }

# The kernel's partitions of a disk: "NUMBER START SIZE ALIGNMENT_OFFSET;...", in units of 512 bytes and in bytes.
partitions() {
    for dir in "/sys/block/$1/$1"*; do
        [ -e "$dir/partition" ] || continue
        echo "$(cat "$dir/partition") $(cat "$dir/start") $(cat "$dir/size") $(cat "$dir/alignment_offset")"
    done | tr '\n' ';'
}

# What the kernel says of a disk: "LOGICAL PHYSICAL MINIMUM OPTIMAL OFFSET".
limits() {
    (cd "/sys/block/$1" && echo $(cat queue/logical_block_size queue/physical_block_size queue/minimum_io_size \
        queue/optimal_io_size alignment_offset))
}

# Keeps the bytes of a disk, and compares them later: those that the disk has, not those that are remembered.
keep_bytes() { sync; dd if="/dev/$1" of="/tmp/bytes-of-$1" bs=1M iflag=direct 2> /dev/null; }
same_bytes() {
    sync
    blockdev --flushbufs "/dev/$2"
    if cmp "/dev/$2" "/tmp/bytes-of-$2" > /tmp/cmp 2>&1; then ok "$1"; else fail "$1" "$(cat /tmp/cmp)"; fi
}

# Waits until the kernel has found a disk.
await() {
    for tenth in $(seq 100); do
        [ -b "/dev/$1" ] && return
        sleep 0.1
    done
    fail "the disk $1" "it did not appear"
}

# disk_of SECTORS: waits for the disk of that size, in units of 512 bytes; for disks that are found in any order.
disk_of() {
    for tenth in $(seq 200); do
        for dir in /sys/block/sd* /sys/block/vd* /sys/block/nvme*; do
            [ "$(cat "$dir/size" 2> /dev/null)" = "$1" ] && echo "${dir##*/}" && return
        done
        sleep 0.1
    done
    fail "the disk of $1 sectors" "it did not appear"
}

# disk_named TEXT: waits for the disk with that text in its model or its serial number.
disk_named() {
    for tenth in $(seq 100); do
        for dir in /sys/block/sd* /sys/block/nvme*; do
            said=$(cat "$dir/device/model" "$dir/device/serial" "$dir/device/vpd_pg80" 2> /dev/null | tr -cd 'A-Za-z0-9._ -')
            case $said in *"$1"*) basename "$dir"; return ;; esac
        done
        sleep 0.1
    done
    fail "the drive $1" "it did not appear"
}
