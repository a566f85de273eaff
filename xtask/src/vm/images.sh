# In the guest: the kernel and flysch read and write each other's flash. A line of results for each
# case, and nothing behind the first that fails but what it found.
# With fastmaps, a UBI that knows them takes the place of the kernel's own.
# Arguments: blocks of the test partition, then the cases. UBI keeps as few blocks (-b) for later bad
# ones as it can: the partition is small.
blocks=$1
shift
# Page reads of an attach by scanning: all blocks and the volume table.
limit=$((blocks + 22))
cd /tmp
exec 2>&1

fail() {
    echo "FAILED $name: $*"
    dmesg | tail -n 12
    exit 0
}

# Files that shrink and that do not, one with a hole, folders.
plant() {
    mkdir -p tree/folder/deep tree/nothing
    head -c 150000 /bin/busybox > tree/program
    gzip -c /bin/busybox | head -c 60000 > tree/packed
    yes 'laid down in layers, one after another' | head -c 100000 > tree/text
    : > tree/empty
    echo 'a short one' > tree/folder/short
    head -c 40000 /bin/busybox | tail -c 30001 > tree/folder/deep/piece
}

sums() {
    (cd "$1" && find . -type f | sort | xargs md5sum)
}

load_ubi() {
    [ ! -e /sys/module/ubi/parameters/fm_autoconvert ] || return 0
    rmmod ubifs && rmmod ubi && insmod /ubi-fastmap.ko fm_autoconvert=1 && modprobe ubifs ||
        fail "loading UBI with fastmaps"
}

# A fastmap must have been attached by, if there is one of a clean detach.
attach() {
    dmesg -c > /dev/null
    ubiattach -m 0 -b 1 > /dev/null || fail attach
    [ -z "$fastmap" ] || [ "$1" != clean ] || dmesg | grep -q 'attached by fastmap' ||
        fail "the kernel scans in spite of a fastmap"
}

mount_flash() {
    case $fs in
    ubifs)
        attach "$1"
        mount -t ubifs -o "compr=$compression" ubi0_0 /mnt || fail mount
        ;;
    jffs2) mount -t jffs2 mtd0 /mnt || fail mount ;;
    esac
}

unmount_flash() {
    umount /mnt || fail unmount
    [ $fs = jffs2 ] || ubidetach -m 0 || fail detach
}

# What flysch finds on the flash goes to the folder `found`. With a fastmap of a clean detach it must
# read fewer headers than there are blocks.
extract() {
    rm -rf found
    nanddump -q -o -f dump /dev/mtd0 || fail nanddump
    told=$(flysch image extract dump found --on file/$fs) || fail "flysch image extract"
    [ -n "$fastmap" ] && [ "$1" = clean ] || return 0
    told=${told% of them*}
    [ "${told##* }" -lt "$limit" ] || fail "flysch scans in spite of a fastmap: $told"
}

# flysch makes the flash, its power cut at an operation or not; the kernel reads it, writes on, and
# flysch reads that.
ours() {
    cut=
    switch=${fastmap:+--ubi-fastmap on}
    [ "$1" = clean ] || cut="--cut $1"
    made=$(flysch image make tree image --on file/$fs --partition-blocks "$blocks" \
        --compression "$compression" $switch $cut --force) || fail "flysch image make"
    flash_erase -q /dev/mtd0 0 0 || fail flash_erase
    nandwrite -q -o -k /dev/mtd0 image || fail nandwrite
    mount_flash "$1"
    sums /mnt > theirs
    sums tree | head -n "${made%% *}" > durable
    [ -s durable ] || fail "nothing was durable"
    while read -r line; do
        grep -qxF "$line" theirs || fail "the kernel does not read $line"
    done < durable
    [ "$1" != clean ] || diff -r tree /mnt || fail "the kernel reads other files"
    rm -rf found
    flysch image extract image found --on file/$fs > /dev/null || fail "flysch image extract"
    sums found | diff theirs - || fail "the kernel and flysch read different files"
    cp -r tree /mnt/second && sync || fail "the kernel cannot write on"
    unmount_flash
    extract clean
    diff -r tree found/second || fail "flysch reads other files than the kernel wrote"
    echo "ok $name: $made"
}

# The kernel makes the flash; flysch reads it as it is while mounted, in the middle of a write, and
# after the unmount.
theirs() {
    case $fs in
    ubifs)
        ubiformat -q -y /dev/mtd0 > /dev/null || fail ubiformat
        ubiattach -m 0 -b 1 > /dev/null && ubimkvol /dev/ubi0 -N data -m > /dev/null || fail ubimkvol
        ubidetach -m 0
        ;;
    jffs2) flash_erase -q -j /dev/mtd0 0 0 || fail flash_erase ;;
    esac
    mount_flash "${fastmap:+clean}"
    cp -r tree /mnt/tree && sync || fail "the kernel cannot write"
    cp tree/program /mnt/unfinished
    extract
    diff -r tree found/tree || fail "flysch reads other files of a mounted flash"
    rm /mnt/tree/text && unmount_flash
    extract clean
    rm found/tree/text 2> /dev/null && fail "flysch reads a file that was removed"
    cp tree/text found/tree/text
    diff -r tree found/tree || fail "flysch reads other files"
    cmp tree/program found/unfinished || fail "flysch reads another file"
    echo "ok $name"
}

plant
for name in "$@"; do
    IFS=: read -r maker fs compression how fastmap <<END
$name
END
    [ -z "$fastmap" ] || load_ubi
    $maker "$how"
done
