# Partitions with files move, and the power goes. What is done is in /lab/what. The second disk has a file system for
# what shall outlast it.
. /lab/lib.sh
modprobe virtio_pci
modprobe virtio_blk
modprobe nls_cp437
modprobe nls_ascii
modprobe vfat
modprobe ext4
await vda
await vdb

# make NUMBER FS: a file system that is full of files.
make() {
    case $2 in
        ext4) mke2fs -q -F -t ext4 "/dev/vda$1" ;;
        vfat) mkfs.vfat "/dev/vda$1" > /dev/null ;;
    esac
    mount -t "$2" "/dev/vda$1" /mnt
    mkdir /mnt/files
    file=0
    # Until it is full: the last one is cut short.
    while (echo $file && cat /lab/noise) > "/mnt/files/$file" 2> /dev/null; do
        echo "small $file" > "/mnt/files/small$file"
        file=$((file + 1))
    done
    sync
    sums > "/tmp/sums$1"
    value "files/$1" $file
    value "sums/$1" "$(cat "/tmp/sums$1")"
    umount /mnt
}

# The checksum of the checksums of all files.
sums() { (cd /mnt/files && for file in $(ls | sort); do md5sum "$file"; done | md5sum | cut -d ' ' -f 1); }

# half_moved NAME: nobody can take it for whole. When the first GPT is half written the kernel has no partitions.
half_moved() {
    alignck /dev/vda > /tmp/said 2>&1
    is "$1: a check says that a move is unfinished" $? 5
    says "$1: its verdict" /tmp/said "a move of its partitions is unfinished"
    says "$1: its code" /tmp/said "unfinished-move"
    nodes=
    while read -r number fs; do
        [ -b "/dev/vda$number" ] || continue
        nodes="$nodes $number"
        is "$1: what blkid finds in partition $number" "$(blkid -p -o value -s TYPE "/dev/vda$number")" ""
        for kind in "" "-t $fs"; do
            mount $kind -o ro "/dev/vda$number" /mnt 2> /dev/null
            is "$1: mount $kind of partition $number fails" "$([ $? = 0 ] && umount /mnt && echo mounted)" ""
        done
    done < /lab/file-systems
    value "nodes" "$nodes"
}

# whole NAME: all files are there, and no file system has a fault. Nothing is written.
whole() {
    value "partitions" "$(partitions vda)"
    blockdev --rereadpt /dev/vda
    value "reread" "$(partitions vda)"
    while read -r number fs; do
        case $fs in
            ext4) e2fsck -f -n "/dev/vda$number" > /tmp/said 2>&1 ;;
            vfat) fsck.vfat -n "/dev/vda$number" > /tmp/said 2>&1 ;;
        esac
        is "$1: partition $number, its $fs has no fault" $? 0
        mount -t "$fs" -o ro "/dev/vda$number" /mnt
        is "$1: partition $number is mounted" $? 0
        is "$1: partition $number, its files" "$(sums)" "$(cat "/tmp/sums$number" 2> /dev/null || cat "/lab/sums$number")"
        umount /mnt
    done < /lab/file-systems
}

# The drive counts writes from here on.
mark() {
    sync
    dd if=/dev/vda of=/dev/null bs=4096 skip=$(cat /lab/mark) count=1 iflag=direct 2> /dev/null
}

what=$(cat /lab/what)
if [ -e /lab/table ]; then
    sfdisk --quiet --wipe always --wipe-partitions always /dev/vda < /lab/table
    while read -r number fs; do make "$number" "$fs"; done < /lab/file-systems
    mke2fs -q -F -t ext4 /dev/vdb
fi
mkdir /keep
mount -t ext4 /dev/vdb /keep
is "the second disk is mounted" $? 0
export XDG_STATE_HOME=$(cat /lab/state)

[ "$what" = fix ] || half_moved "before $what"
mark
case $what in
    fix) alignck fix --yes $(cat /lab/options) /dev/vda > /tmp/said 2>&1 ;;
    *) alignck "$what" --yes /dev/vda > /tmp/said 2>&1 ;;
esac
is "$what: it says '$(tail -n 3 /tmp/said | one_line)'" $? 0
umount /keep
alignck /dev/vda > /tmp/said 2>&1
is "a check after $what" $? "$(cat /lab/exit)"
whole "after $what"
