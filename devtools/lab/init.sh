#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The guest's first process: it loads the modules, lays a throw-away layer over the host's files,
# runs /run/samebytes-lab/job.sh there, and switches the machine off.
# What goes wrong here is printed on the console, whose log the host shows when no status came back.

/bin/busybox mkdir -p /proc /sys /dev /host /layer /new
/bin/busybox --install -s /bin
export PATH=/bin

give_up() {
    echo "lab: $1 failed" >/dev/console
    poweroff -f
}

mount -t proc proc /proc && mount -t sysfs sys /sys && mount -t devtmpfs dev /dev ||
    give_up "mounting the kernel's file systems"
for module in /modules/*.ko; do
    insmod "$module" || echo "lab: insmod $module failed" >/dev/console
done

# The host's files never change below a cache that is "loose": the layer takes all writes.
mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=512000,cache=loose host /host ||
    give_up "mounting the host's files"
mount -t tmpfs -o size=75% layer /layer && mkdir /layer/written /layer/work &&
    mount -t overlay -o lowerdir=/host,upperdir=/layer/written,workdir=/layer/work all /new ||
    give_up "laying a layer over the host's files"

mkdir -p /new/proc /new/sys /new/dev /new/run /new/tmp
for folder in proc sys dev; do mount --move "/$folder" "/new/$folder"; done
mount -t debugfs debugfs /new/sys/kernel/debug || give_up "mounting debugfs"
mount -t tmpfs run /new/run && mkdir /new/run/samebytes-lab /new/run/tmp
mkdir -p /new/dev/shm /new/dev/pts
mount -t tmpfs shm /new/dev/shm
mount -t devpts pts /new/dev/pts
ln -sf /proc/self/fd /new/dev/fd
ip link set lo up
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=none results \
    /new/run/samebytes-lab || give_up "mounting the folder for results"

results=/new/run/samebytes-lab
buffers=/new/sys/kernel/debug/dma_buf/bufinfo
# The host's terminal breaks the lines itself.
stty -F /new/dev/hvc0 -opost -echo
cat "$buffers" >"$results/buffers-before"
chroot /new /bin/sh /run/samebytes-lab/job.sh </new/dev/null >/new/dev/hvc0 2>&1
status=$?
cat "$buffers" >"$results/buffers-after"
# Written last: it tells the host that everything else is there.
echo "$status" >"$results/status"
sync
poweroff -f
