# lib.sh: what the scripts share
HERE=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
R=${OPENWRT_DEVICE_DIR:-$HOME/.cache/openwrt-device}
die() { echo "$(basename "$0"): $*" >&2; exit 1; }
case $R in /*) ;; *) R=$PWD/$R ;; esac
case $R in *[[:space:],:\\]*) die "OPENWRT_DEVICE_DIR may not have spaces, commas, colons or backslashes: $R" ;; esac
[ "$(uname -s)" = Linux ] && [ "$(id -u)" = 0 ] || die "needs root on Linux"

# A process is known by pid and start time, so that never a recycled pid is taken for it.
start_time() { sed 's/^.*) //' "/proc/$1/stat" 2>/dev/null | awk '$1 !~ /[ZX]/ { print $20 }'; } # nothing for one that has ended
device_dir() {
  case $1 in '' | *[!A-Za-z0-9._-]* | .*) die "a device's name is of letters, digits, dots, dashes: '$1'" ;; esac
  [ ${#1} -le 60 ] || die "a device's name has at most 60 characters"
  echo "$R/devices/$1"
}
is_up() { # is_up DIR: sets PID, of the unshare that holds the device
  local started; PID=
  [ -s "$1/process" ] && read -r PID started <"$1/process" && [ -n "$started" ] && [ "$(start_time "$PID")" = "$started" ]
}
first_process() { tr -d ' ' <"/proc/$1/task/$1/children" 2>/dev/null; } # of the device, as seen from here

# of what is built from these files, and from the sources that they name
tool_stamp() { (cd "$HERE" && find build.sh patch.sh sources.txt listen-outside.c rootfs rootfs-icn -type f -exec sha256sum {} + | LC_ALL=C sort | sha256sum); }

USAGE_OPTIONS='[--icn] [--netifd] [--mwan3] [--autoreload] [--config FOLDER]'
parse_option() { # parse_option ARG [NEXT]: 0 when taken; TAKEN says how many arguments
  TAKEN=1
  case $1 in
    --icn) export DEVICE_ICN=1 ;;
    --netifd) export DEVICE_NETIFD=1 ;;
    --mwan3) export DEVICE_MWAN3=1 DEVICE_NETIFD=1 ;; # mwan3 needs real addresses and routes
    --autoreload) export DEVICE_AUTORELOAD=1 ;;
    --config) [ -d "${2:-}" ] || die "--config needs a folder"; CONFIG=$(cd "$2" && pwd); TAKEN=2 ;;
    *) return 1 ;;
  esac
}

prepare_device() { # prepare_device DIR: its folders, fresh
  umask 022
  [ -e "$R/dest/built" ] || die "not built: run $HERE/build.sh SOURCES first (or set OPENWRT_DEVICE_DIR)"
  [ "$(cat "$R/dest/tool" 2>/dev/null)" = "$(tool_stamp)" ] || [ -n "${HEADS:-}" ] || die "what is built in $R is not of these files: run $HERE/build.sh"
  rm -rf "$1"; mkdir -p "$1"/{etc.up/config,etc.work,usr.up,usr.work,run/openwrt-device,run/ubus,run/rpcd,run/lock,tmp,var/{log,swanctl,ipsec,state,lib,cache}}
  chmod 1777 "$1/tmp"; ln -s /run "$1/var/run"; ln -s /run/lock "$1/var/lock"; ln -s /tmp "$1/var/tmp"
  chmod 755 "$1/etc.up" "$1/usr.up"
  echo "DISTRIB_DESCRIPTION='$(awk '$1 ~ /^(uci|rpcd|uhttpd|netifd|firewall[34]|packages|luci|icn)$/ { printf "%s%s %s", n++ ? ", " : "test/openwrt-device: ", $2, substr($3, 1, 7) }' "$HERE/sources.txt")'" >"$1/etc.up/openwrt_release"
  give_rights "$1/usr.up/share/rpcd/acl.d"
  [ -z "${CONFIG:-}" ] || cp -r "$CONFIG/." "$1/etc.up/config/"
}
give_rights() { # give_rights DIR: those of the logins `sdewan` and `staged`, as the project's documentation has them today
  mkdir -p "$1"; chmod 755 "$1" "$(dirname "$1")" "$(dirname "$(dirname "$1")")"
  python3 - "$HERE/../../docs/drivers.md" "$1" <<'PY' || die "no rights found in docs/drivers.md"
import json, re, sys
fast, staged = [json.loads(x) for x in re.findall(r"```json\n(.*?)```", open(sys.argv[1]).read(), re.S)][:2]
json.dump(fast, open(sys.argv[2] + "/sdewan-fast.json", "w"))
json.dump({"sdewan-staged": staged["sdewan-agent"]}, open(sys.argv[2] + "/sdewan-staged.json", "w"))
PY
}
launch() { # launch DIR NAME ADDRESS:PORT [setsid]: does not return; this process becomes the one that holds the device
  exec 9</proc/self/ns/net
  exec ${4:-} unshare --mount --net --uts --pid --fork --kill-child=KILL --propagation private --mount-proc \
    "$HERE/inner.sh" "$R" "$1" "$2" "$3"
}
end_device() { # end_device DIR: kills the one recorded process; the kernel ends all in its namespaces
  local init n
  if is_up "$1"; then
    init=$(first_process "$PID"); kill -KILL "$PID" 2>/dev/null || true
    for n in $(seq 100); do [ -n "$init" ] && [ -d "/proc/$init" ] && ! grep -q '^State:.Z' "/proc/$init/status" 2>/dev/null || break; sleep 0.05; done
  fi
  for n in $(seq 20); do rm -rf "$1" 2>/dev/null && break; sleep 0.1; done
  [ ! -e "$1" ] || { echo "could not remove $1" >&2; return 1; }
}
