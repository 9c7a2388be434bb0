# Plans, writes and takes back tables on every kind of disk; reports what the kernel and the other tools then see.
. /lab/lib.sh
. /lab/topologies.sh

# The numbers of the partitions that are no containers.
data_partitions() { sfdisk --dump "/dev/$1" | grep -v 'type=5$' | sed -n 's/^\/dev\/.*[^0-9]\([0-9][0-9]*\) : start.*/\1/p'; }

for pair in $(cat /lab/disks); do
    name=${pair%%:*} disk=${pair#*:}
    # Something that has to be there again after undo.
    untold=
    [ "$name" = dm-stripe ] && untold="--no-reread --no-tell-kernel"
    sfdisk --wipe always --quiet $untold "/dev/$disk" < /lab/old
    keep_bytes "$disk"
    before_kernel=$(partitions "$disk")
    for table in gpt mbr; do
        key=$name/$table
        alignck plan "/dev/$disk" --table $table --size 3M --size 1000kB --size 2M x4 --size rest --json > /tmp/plan
        is "$key: plan" $? 0
        value "plan/$key" "$(one_line < /tmp/plan)"
        alignck apply --yes --backup "/tmp/$name-$table.backup" /tmp/plan "/dev/$disk" > /tmp/said 2>&1
        is "$key: apply" "$?" 0
        cat /tmp/said
        value "kernel/$key" "$(partitions "$disk")"
        # Once more from the bytes alone, by the kernel's own parser.
        [ -z "$untold" ] && blockdev --rereadpt "/dev/$disk"
        value "reread/$key" "$(partitions "$disk")"
        value "sfdisk/$key" "$(sfdisk --json "/dev/$disk" | one_line)"
        value "lsblk/$key" "$(lsblk --bytes --json --output NAME,TYPE,ALIGNMENT,SIZE "/dev/$disk" | one_line)"
        value "verify/$key" "$(sfdisk --verify "/dev/$disk" 2>&1 | tr '\n' ' ')"
        for kind in minimal optimal; do
            set --
            for number in $(data_partitions "$disk"); do set -- "$@" align-check $kind "$number"; done
            said=$(parted --script "/dev/$disk" "$@" 2>&1)
            value "parted-$kind/$key" "$? $(($# / 3)) $said"
        done
        alignck --json "/dev/$disk" > /tmp/check
        value "exit/$key" $?
        value "check/$key" "$(one_line < /tmp/check)"
        alignck undo --yes "/dev/$disk" "/tmp/$name-$table.backup" > /tmp/said 2>&1
        is "$key: undo" $? 0
        cat /tmp/said
        same_bytes "$key: the bytes after undo" "$disk"
        is "$key: the kernel's partitions after undo" "$(partitions "$disk")" "$before_kernel"
    done
    rm "/tmp/bytes-of-$disk"
done
