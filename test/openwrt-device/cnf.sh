#!/bin/bash
# cnf.sh: a device as the CNF's container on the process kubelet.
# Of the pod: KTH_POD_IP, KTH_ROOT (where its mounts lie), PORT_80. DEVICE_OPTIONS: options of up.sh, e.g. "--icn"; a Deployment's env can set it too.
set -eu; [ -n "${OPENWRT_DEVICE_DIR:-}" ] || unset OPENWRT_DEVICE_DIR; . "$(dirname "$(readlink -f "$0")")/lib.sh"
: "${KTH_POD_IP:?is not set: this runs in a pod of the process kubelet}" "${KTH_ROOT:?is not set}" "${PORT_80:?is not set}"
CONFIG=; set -- ${DEVICE_OPTIONS:-}
while [ $# -gt 0 ]; do parse_option "$@" || die "unknown option $1 in DEVICE_OPTIONS"; shift $TAKEN; done
NAME=pod-${KTH_POD_IP//./-}; D=$(device_dir "$NAME")
mkdir -p "$R/devices"; if is_up "$D"; then end_device "$D"; fi   # of a container that was killed
prepare_device "$D"
# the files of /etc/config show at their places in the container, for who reads them from outside
mkdir -p "$KTH_ROOT/etc/config"
for f in firewall mwan3 network ipsec keepalived; do
  [ -e "$D/etc.up/config/$f" ] || cp "$R/dest/etc/config/$f" "$D/etc.up/config/"
  ln -sfn "$D/etc.up/config/$f" "$KTH_ROOT/etc/config/$f"
done
echo "$PORT_80" >"$D/port"; export DEVICE_POD_ROOT=$KTH_ROOT
launch "$D" "$NAME" "$KTH_POD_IP:$PORT_80" & PID=$!
echo "$PID $(start_time $PID)" >"$D/process"
trap 'end_device "$D"; exit 143' TERM INT
wait $PID && S=0 || S=$?
cp "$D/var/log/device.log" /dev/stderr 2>/dev/null || true; exit "$S"
