# A disk, and beside it a file system that keeps the backups. What is done is in /lab/what.
. /lab/lib.sh
modprobe virtio_pci
modprobe virtio_blk
modprobe sd_mod
modprobe ahci
modprobe ext4
await sda
await vda
mount -t ext4 /dev/vda /mnt
export XDG_STATE_HOME=/mnt

case $(cat /lab/what) in
    plan)
        table=$(cat /lab/table)
        alignck plan /dev/sda --table "$table" --size 2M --size 1M x4 --json > /tmp/plan
        # With identifiers of its own a plan gives the same bytes each time.
        case $table in
            gpt) awk '/"table_id": null|"id": null/ { sub("null", "\"00000000-0000-4000-8000-0000000000" (10 + n++) "\"") } 1' ;;
            mbr) sed 's/"table_id": null/"table_id": "0x12345678"/' ;;
        esac < /tmp/plan > /tmp/plan.fixed
        value plan "$(one_line < /tmp/plan.fixed)"
        alignck apply --yes /tmp/plan.fixed /dev/sda
        is "apply, left alone" $? 0
        ;;
    apply)
        # The power goes in the middle of it.
        alignck apply --yes /lab/plan /dev/sda
        ;;
    settle)
        alignck /dev/sda > /tmp/said 2>&1
        is "a check says that a write is unfinished" $? 5
        says "its code" /tmp/said "unfinished-write"
        # Both ways out begin with the same disk and the same backup.
        keep_bytes sda
        cp -r /mnt/alignck /tmp/backups
        alignck resume --yes /dev/sda
        is "resume" $? 0
        cp /lab/new /tmp/bytes-of-sda.new
        mv /tmp/bytes-of-sda /tmp/torn
        mv /tmp/bytes-of-sda.new /tmp/bytes-of-sda
        same_bytes "the bytes after resume" sda
        alignck /dev/sda > /tmp/said 2>&1
        is "a check after resume" $? 0
        dd if=/tmp/torn of=/dev/sda bs=1M 2> /dev/null
        sync
        rm -r /mnt/alignck
        cp -r /tmp/backups /mnt/alignck
        alignck undo --yes /dev/sda
        is "undo" $? 0
        cp /lab/old /tmp/bytes-of-sda
        same_bytes "the bytes after undo" sda
        ;;
esac
umount /mnt
