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

# put_back: the disk and the backups as the power cut left them.
put_back() {
    dd if=/tmp/cut of=/dev/sda bs=1M 2> /dev/null
    sync
    rm -r /mnt/alignck
    cp -r /tmp/backups /mnt/alignck
}

# settle NAME: the state in /tmp/cut is finished, and taken back.
settle() {
    put_back
    alignck /dev/sda > /tmp/said 2>&1
    is "$1a check says that a write is unfinished" $? 5
    says "$1its code" /tmp/said "unfinished-write"
    alignck resume --yes /dev/sda
    is "$1resume" $? 0
    cp /lab/new /tmp/bytes-of-sda
    same_bytes "$1the bytes after resume" sda
    alignck /dev/sda > /tmp/said 2>&1
    is "$1a check after resume" $? 0
    put_back
    alignck undo --yes /dev/sda
    is "$1undo" $? 0
    cp /lab/old /tmp/bytes-of-sda
    same_bytes "$1the bytes after undo" sda
}

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
        # All ways out begin with the same disk and the same backup.
        keep_bytes sda
        mv /tmp/bytes-of-sda /tmp/as-cut
        cp /tmp/as-cut /tmp/cut
        cp -r /mnt/alignck /tmp/backups
        settle ""
        while read -r variant base sectors; do
            cp "$base" /tmp/torn
            number=0
            for sector in $sectors; do
                dd if=/lab/sectors-$variant of=/tmp/torn bs=512 skip=$number seek=$sector count=1 conv=notrunc 2> /dev/null
                number=$((number + 1))
            done
            mv /tmp/torn /tmp/cut
            settle "torn, $(echo $base | sed 's/.*\///') with the new sectors $sectors: "
        done < /lab/torn
        ;;
esac
umount /mnt
