# Partitions come and go beside one that is mounted and written to all the while.
. /lab/lib.sh
modprobe virtio_pci
modprobe sd_mod
modprobe ahci
modprobe ext4
await sda

beside() {
    name=$1
    sfdisk --wipe always --quiet /dev/sda < "/lab/$name"
    mke2fs -q -F -t ext4 /dev/sda1
    mount /dev/sda1 /mnt
    mkdir /mnt/files
    i=0
    while [ $i -lt 50 ]; do
        echo "$i" > "/mnt/files/$i"
        i=$((i + 1))
    done
    sync
    # Keeps the file system busy.
    (while [ -d /mnt/files ]; do echo busy >> /mnt/files/log; sleep 0.1; done 2> /dev/null) &
    busy=$!
    value "before/$name" "$(partitions sda)"

    # A new table would pull it away.
    alignck plan /dev/sda --table gpt --size 5M --json > /tmp/plan
    alignck apply --yes /tmp/plan /dev/sda > /tmp/said 2>&1
    is "$name: a new table is refused" $? 2
    says "$name: the mount is named" /tmp/said "/dev/sda1 is mounted on /mnt"

    alignck plan /dev/sda --keep --size 4M --size 6M --json > /tmp/plan
    is "$name: plan --keep" $? 0
    value "plan/$name" "$(one_line < /tmp/plan)"
    alignck apply --yes --backup /tmp/$name.backup /tmp/plan /dev/sda > /tmp/said 2>&1
    is "$name: apply beside the mount" $? 0
    cat /tmp/said
    value "after/$name" "$(partitions sda)"
    value "sfdisk/$name" "$(sfdisk --json /dev/sda | one_line)"

    # What is new can be used at once.
    new=$(partitions sda | tr ';' '\n' | tail -n 1 | cut -d ' ' -f 1)
    mke2fs -q -F -t ext4 "/dev/sda$new" && mkdir -p /tmp/new && mount "/dev/sda$new" /tmp/new
    is "$name: the new partition $new is mounted" $? 0
    alignck undo --yes /dev/sda /tmp/$name.backup > /tmp/said 2>&1
    is "$name: undo while the new partition is mounted" $? 2
    says "$name: its mount is named" /tmp/said "/dev/sda$new is mounted on /tmp/new"
    umount /tmp/new
    alignck undo --yes /dev/sda /tmp/$name.backup > /tmp/said 2>&1
    is "$name: undo beside the mount" $? 0
    cat /tmp/said
    value "undone/$name" "$(partitions sda)"

    kill $busy
    wait $busy 2> /dev/null
    # From the medium, not from memory.
    umount /mnt
    blockdev --flushbufs /dev/sda
    mount /dev/sda1 /mnt
    is "$name: the files" "$(cat /mnt/files/[0-9]* | sort -n | tr '\n' ' ')" "$(seq 0 49 | tr '\n' ' ')"
    umount /mnt
    blockdev --rereadpt /dev/sda
    value "reread/$name" "$(partitions sda)"
}

beside gpt
beside mbr
