#!/bin/bash
# init.sh DIR NAME ADDRESS:PORT: the first process of a device's PID namespace, which becomes its own init (called by up.sh and cnf.sh)
set -eu; D=$1 NAME=$2 LISTEN=$3 SELF=$(readlink -f "$0")
if [ $# = 3 ]; then
  # The other end of its interfaces: a network and a mount namespace of this machine's root, with names of networks of its own.
  unshare --net --mount sh -c 'mount -t tmpfs tmpfs /run/netns 2>/dev/null || { mkdir -p /run/netns; mount -t tmpfs tmpfs /run/netns; }; exec sleep infinity' & PEER=$!
  for _ in $(seq 100); do [ "$(readlink /proc/$PEER/ns/net)" != "$(readlink /proc/self/ns/net)" ] && break; sleep 0.02; done
  python3 "$(dirname "$SELF")/forward.py" "$LISTEN" &
  # It may not set this machine's clock, load modules, or start it anew.
  exec unshare --net --uts --mount --propagation private setpriv --bounding-set -sys_time,-sys_module,-sys_boot,-sys_rawio "$SELF" "$@" $PEER
fi
PEER=$4 N=$D/root; hostname "$NAME"
mount -t overlay overlay -o "lowerdir=$(cat "$D/rootfs"),upperdir=$D/upper,workdir=$D/work" "$N" ||
  { echo "the kernel refuses an overlay with its upper layer in $D: set OPENWRT_DEVICE_DIR to a folder on ext4, xfs or tmpfs" >&2; exit 1; }
# what a pod mounts over OpenWRT's files: the agent's own login, and its program that looks into the kernel
for f in etc/config/rpcd usr/share/rpcd/acl.d/sdewan-agent.json usr/share/rpcd/sdewan-kernel.sh; do
  if [ -n "${DEVICE_POD_ROOT:-}" ] && [ -e "$DEVICE_POD_ROOT/$f" ]; then touch "$N/$f"; mount --bind "$(realpath "$DEVICE_POD_ROOT/$f")" "$N/$f"; fi
done
mount -t proc proc "$N/proc"; mount -t sysfs -o ro sysfs "$N/sys"
# of /proc/sys what belongs to its network; the rest is this machine's
mount --bind "$N/proc/sys" "$N/proc/sys"; mount --bind "$N/proc/sys/net" "$N/proc/sys/net"; mount -o remount,bind,ro "$N/proc/sys"
mount -t tmpfs -o mode=755 tmpfs "$N/dev"; mkdir "$N"/dev/{pts,shm,net}; mount -t devpts -o newinstance,ptmxmode=666 devpts "$N/dev/pts"; ln -s pts/ptmx "$N/dev/ptmx"
for d in "null 1 3" "zero 1 5" "full 1 7" "random 1 8" "urandom 1 9" "tty 5 0" "net/tun 10 200"; do set -- $d; mknod -m 666 "$N/dev/$1" c "$2" "$3"; done

# the network: eth0 (lan), net0, net1, net2; their other ends have the addresses of peers
ip link set lo up; echo 1 >/proc/sys/net/ipv4/ip_forward
for d in "eth0 192.168.1.2" "net0 172.16.20.1" "net1 172.16.30.1" "net2 172.16.40.1"; do
  set -- $d; ip link add "$1" type veth peer name "$1" netns "$PEER"; ip link set "$1" up
  nsenter --net=/proc/$PEER/ns/net sh -c "ip link set lo up; ip addr add $2/24 dev $1; ip link set $1 up"
done
# where the kernel has no ESP, charon does it itself, by the device ipsec0
if [ -d "$N/etc/strongswan.d/charon" ] && ! ip xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 1 enc 'cbc(aes)' "0x$(printf '%032d' 0)" 2>/dev/null; then
  echo 'kernel-libipsec { load = yes }' >"$N/etc/strongswan.d/charon/kernel-libipsec.conf"
fi
ip xfrm state flush 2>/dev/null || true

cd "$N"; pivot_root . mnt
exec env -i container=sdewan PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root /bin/sh -c 'umount -l /mnt && exec /sbin/init'
