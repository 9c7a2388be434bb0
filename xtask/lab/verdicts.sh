# Writes tables with sfdisk on every kind of disk, and reports what the kernel and alignck say of them.
. /lab/lib.sh
. /lab/topologies.sh

# A volume that begins where a partition would: its alignment_offset is the kernel's word on that start.
volumes() {
    sfdisk --dump "/dev/$1" | sed -n 's/.*[^0-9]\([0-9]*\) : start= *\([0-9]*\), size= *\([0-9]*\), type=\([^,]*\).*/\1 \2 \3 \4/p' |
        while read -r number start size type; do
            [ "$type" = 5 ] && continue
            dmsetup create lab-part --table "0 $size linear /dev/$1 $start"
            for dir in /sys/block/dm-*; do
                [ "$(cat "$dir/dm/name")" = lab-part ] && echo "$number $start $size $(cat "$dir/alignment_offset");"
            done
            dmsetup remove lab-part
        done | tr '\n' ' '
}

for pair in $(cat /lab/disks); do
    name=${pair%%:*} disk=${pair#*:}
    value "limits/$name" "$(limits "$disk")"
    for table in gpt mbr; do
        script=/lab/$table
        [ "$name" = 4Kn ] && script=/lab/$table-4k
        # Volumes have no partitions of the kernel's that it could be told of.
        [ "$name" = dm-stripe ] && untold="--no-reread --no-tell-kernel"
        sfdisk --wipe always --quiet $untold "/dev/$disk" < "$script" || fail "$name, $table" "sfdisk does not write it"
        case $name in
            dm-stripe) value "kernel/$name/$table" "$(volumes "$disk")" ;;
            *) value "kernel/$name/$table" "$(partitions "$disk")" ;;
        esac
        value "check/$name/$table" "$(alignck --json "/dev/$disk" | one_line)"
    done
done

# Two disks in one volume of which the boundaries do not fit together: the kernel gives up.
printf '0 65536 linear /dev/sdb 0\n65536 65536 linear /dev/sda 0\n' | dmsetup create lab-unfit
for dir in /sys/block/dm-*; do [ "$(cat "$dir/dm/name")" = lab-unfit ] && disk=$(basename "$dir"); done
value "limits/unfit" "$(limits "$disk")"
alignck --json "/dev/$disk" > /tmp/said
value "check/unfit" "$(one_line < /tmp/said)"
