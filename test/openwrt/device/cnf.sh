#!/bin/bash
# cnf.sh: a device from SDEWAN_OPENWRT_ROOTFS as the CNF's container on the process kubelet.
# Of the pod: KTH_POD_IP, KTH_ROOT (where its mounts lie), PORT_80.
set -eu; [ -n "${OPENWRT_DEVICE_DIR:-}" ] || unset OPENWRT_DEVICE_DIR; . "$(dirname "$(readlink -f "$0")")/lib.sh"
: "${KTH_POD_IP:?is not set: this runs in a pod of the process kubelet}" "${KTH_ROOT:?is not set}" "${PORT_80:?is not set}"
ROOTFS=$(root_file_system)
NAME=pod-${KTH_POD_IP//./-}; D=$(device_dir "$NAME")
mkdir -p "$R/devices"; if is_up "$D"; then end_device "$D"; fi   # of a container that was killed
prepare_device "$D" "$ROOTFS"
# the files of /etc/config show at their places in the container, for who reads them from outside
mkdir -p "$KTH_ROOT/etc/config"
for f in firewall mwan3 network ipsec keepalived; do
  [ -e "$D/upper/etc/config/$f" ] || cp "$ROOTFS/etc/config/$f" "$D/upper/etc/config/" 2>/dev/null || continue
  ln -sfn "$D/upper/etc/config/$f" "$KTH_ROOT/etc/config/$f"
done
echo "$PORT_80" >"$D/port"; export DEVICE_POD_ROOT=$KTH_ROOT
launch "$D" "$NAME" "$KTH_POD_IP:$PORT_80" & PID=$!
echo "$PID $(start_time $PID)" >"$D/process"
trap 'end_device "$D"; exit 143' TERM INT
wait $PID && S=0 || S=$?
exit "$S"
