# Apply is killed in the middle of a write to a slow disk, during each of its writes in turn.
. /lab/lib.sh
modprobe virtio_pci
modprobe sd_mod
modprobe ahci
await sda
export XDG_STATE_HOME=/tmp/state

# How many writes the disk has done, and how many are under way; without a process of its own, for it has to be quick.
writes() {
    read -r _ _ _ _ done _ < /sys/block/sda/stat
    read -r _ under_way < /sys/block/sda/inflight
}

# state: whether the disk holds the old bytes, the new ones, or something between.
state() {
    sync
    blockdev --flushbufs /dev/sda
    if cmp -s /dev/sda /tmp/old; then echo old; elif cmp -s /dev/sda /tmp/new; then echo new; else echo torn; fi
}

# cut COUNT: begins to apply, and kills it while write COUNT is under way. What the kernel remembers goes to the disk.
cut() {
    writes
    before=$done
    alignck apply --yes /tmp/plan /dev/sda > /tmp/said 2>&1 &
    process=$!
    while [ -d /proc/$process ]; do
        writes
        [ "$under_way" -gt 0 ] && [ $((done - before)) -ge $(($1 - 1)) ] && break
    done
    kill -9 $process 2> /dev/null
    wait $process 2> /dev/null
    state=$(state)
    value "killed/$table/$1" "$state"
    alignck /dev/sda > /tmp/said 2>&1
    code=$?
    # What is whole is not unfinished, whoever was killed: the bytes decide.
    if [ $state = torn ]; then
        is "$key: a check says that a write is unfinished" $code 5
        says "$key: its code" /tmp/said "unfinished-write"
        alignck apply --yes /tmp/plan /dev/sda > /tmp/said 2>&1
        is "$key: another apply is refused" $? 5
    else
        is "$key: a check of a whole table" "$(grep -c unfinished-write /tmp/said)" 0
    fi
}

sfdisk --wipe always --quiet /dev/sda < /lab/old
keep_bytes sda
mv /tmp/bytes-of-sda /tmp/old
for table in gpt mbr; do
    alignck plan /dev/sda --table $table --size 2M --size 1M x4 --json > /tmp/plan.any
    # With identifiers of its own a plan gives the same bytes each time.
    case $table in
        gpt) awk '/"table_id": null|"id": null/ { sub("null", "\"00000000-0000-4000-8000-0000000000" (10 + n++) "\"") } 1' ;;
        mbr) sed 's/"table_id": null/"table_id": "0x12345678"/' ;;
    esac < /tmp/plan.any > /tmp/plan
    alignck apply --yes /tmp/plan /dev/sda > /tmp/said 2>&1
    is "$table: apply, left alone" $? 0
    keep_bytes sda
    mv /tmp/bytes-of-sda /tmp/new
    alignck undo --yes /dev/sda > /tmp/said 2>&1
    is "$table: undo" $? 0
    for count in 1 2 3 4; do
        key="$table, killed during write $count"
        cut $count
        if [ $state = torn ] && [ $((count % 2)) = 0 ]; then
            alignck resume --yes /dev/sda > /tmp/said 2>&1
            is "$key: resume" $? 0
            is "$key: the bytes after resume" "$(state)" new
        fi
        if [ $state != old ]; then
            alignck undo --yes /dev/sda > /tmp/said 2>&1
            is "$key: undo" $? 0
        fi
        is "$key: the bytes after undo" "$(state)" old
    done
done
