# Writes tables with sfdisk on every kind of disk, and reports what the kernel and alignck say of them.
. /lab/lib.sh
. /lab/topologies.sh

# kernel_name VOLUME: such as dm-1.
kernel_name() {
    for dir in /sys/block/dm-*; do
        [ "$(cat "$dir/dm/name")" = "$1" ] && echo "${dir##*/}"
    done
}

# A volume that begins where a partition would: its alignment_offset is the kernel's word on that start.
volumes() {
    sfdisk --dump "/dev/$1" | sed -n 's/.*[^0-9]\([0-9]*\) : start= *\([0-9]*\), size= *\([0-9]*\), type=\([^,]*\).*/\1 \2 \3 \4/p' |
        while read -r number start size type; do
            [ "$type" = 5 ] && continue
            dmsetup create lab-part --table "0 $size linear /dev/$1 $start"
            echo "$number $start $size $(cat "/sys/block/$(kernel_name lab-part)/alignment_offset");"
            dmsetup remove lab-part
        done | tr '\n' ' '
}

# look NAME DISK: each table in turn.
look() {
    value "limits/$1" "$(limits "$2")"
    # Volumes have no partitions of the kernel's that it could be told of.
    untold=
    case $2 in dm-*) untold="--no-reread --no-tell-kernel" ;; esac
    for table in gpt mbr; do
        script=/lab/$table
        [ "$1" = 4Kn ] && script=/lab/$table-4k
        sfdisk --wipe always --quiet $untold "/dev/$2" < "$script" || fail "$1, $table" "sfdisk does not write it"
        case $2 in
            dm-*) value "kernel/$1/$table" "$(volumes "$2")" ;;
            *) value "kernel/$1/$table" "$(partitions "$2")" ;;
        esac
        value "check/$1/$table" "$(alignck --json "/dev/$2" | one_line)"
    done
}

for pair in $(cat /lab/disks); do
    look "${pair%%:*}" "${pair#*:}"
done

# Volumes whose boundaries are elsewhere than those of the disks below, or nowhere.
size=$(cat /sys/block/sda/size)
while read -r name table; do
    echo "$table" | sed "s/WHOLE/$((size - 64))/; s/HALF/$((size / 2))/g; s/, /\n/" | dmsetup create "lab-$name" || fail "$name" "dmsetup does not make it"
    look "$name" "$(kernel_name "lab-$name")"
    dmsetup remove "lab-$name"
done < /lab/stacks
