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
first_child() { local c; read -r c _ <"/proc/$1/task/$1/children" || true; echo "$c"; } # of the one that holds the device: its init; of init: the other end of the wires

# root_file_system [FILE|FOLDER]: prints the folder, and says what it lacks. A tar is unpacked once.
root_file_system() {
  local from=${1:-${SDEWAN_OPENWRT_ROOTFS:-}} to lacks
  [ -n "$from" ] || die "no root file system: give --rootfs FILE or FOLDER, or SDEWAN_OPENWRT_ROOTFS ($HERE/README.md)"
  if [ -f "$from" ]; then
    to=$R/rootfs/$(sha256sum "$from" | cut -c1-16)
    if [ ! -d "$to" ]; then
      rm -rf "$to".new.*; mkdir -p "$to.new.$$"
      tar xf "$from" -C "$to.new.$$" || die "could not unpack $from"
      mv -T "$to.new.$$" "$to" 2>/dev/null || [ -d "$to" ] || die "could not keep $to"
    fi
    from=$to
  fi
  [ -d "$from" ] || die "no such root file system: $from"
  from=$(cd "$from" && pwd)
  case $from in *[[:space:],:\\]*) die "its path may not have spaces, commas, colons or backslashes: $from" ;; esac
  lacks=$(chroot "$from" /bin/sh -c 'PATH=/usr/sbin:/usr/bin:/sbin:/bin
    for one in rpcd mwan3 swanctl keepalived; do command -v $one >/dev/null || echo $one; done
    [ -x /sbin/init ] || echo init
    [ -e /usr/lib/uhttpd_ubus.so ] || echo uhttpd-mod-ubus
    command -v fw4 >/dev/null || command -v fw3 >/dev/null || echo firewall4') || die "$from has no /bin/sh that runs on this machine"
  [ -z "$lacks" ] || echo "$(basename "$0"): $from lacks" $lacks >&2
  case " "$lacks" " in *init*) die "without init no device starts" ;; *rpcd* | *uhttpd*) is_icn "$from" || die "without rpcd and uhttpd-mod-ubus no agent reaches it" ;; esac
  echo "$from"
}
is_icn() { [ -e "$1/usr/lib/lua/luci/controller/rest_v1" ]; } # the CNF of ICN, by its REST

prepare_device() { # prepare_device DIR ROOTFS [CONFIG]: its folders, fresh, with what lies over the root file system
  local up=$1/upper part hash
  umask 022; rm -rf "$1"; mkdir -p "$1"/{upper/etc/config,upper/usr/share/rpcd/acl.d,work,root,log}
  printf '%s\n' "$2" >"$1/rootfs"
  for part in network mwan3 keepalived; do [ ! -e "$2/etc/init.d/$part" ] || cp "$HERE/config/$part" "$up/etc/config/"; done
  [ ! -e "$2/etc/config/firewall" ] || { cat "$2/etc/config/firewall"
    printf "\nconfig rule 'admin_ssh'\n\toption name 'Admin SSH'\n\toption src 'lan'\n\toption proto 'tcp'\n\toption dest_port '22'\n\toption target 'ACCEPT'\n"; } >"$up/etc/config/firewall"
  printf 'touch /tmp/booted\n' >"$up/etc/rc.local"
  hash=$(openssl passwd -5 sdewan)
  { echo "root:$hash:19000:0:99999:7:::"; grep -v '^root:' "$2/etc/shadow" || true; } >"$up/etc/shadow"; chmod 600 "$up/etc/shadow"
  login() { printf "\nconfig login\n\toption username '%s'\n\toption password '%s'\n" "$1" "$2"; shift 2; for x; do printf "\tlist %s '%s'\n" "${x%%=*}" "${x#*=}"; done; }
  { printf "config rpcd\n\toption socket /var/run/ubus/ubus.sock\n\toption timeout 30\n"
    login root '$p$root' 'read=luci-*' read=unauthenticated 'write=luci-*' # what a stock LuCI gives; '*' would take our files too
    login sdewan "$hash" read=sdewan-agent read=device-view write=sdewan-agent
    login staged "$hash" read=sdewan-staged read=device-view write=sdewan-staged
    login full "$hash" read=device-full write=device-full; } >"$up/etc/config/rpcd"
  give_rights "$up/usr/share/rpcd/acl.d"
  [ -z "${3:-}" ] || cp -r "$3/." "$up/etc/config/"
}
give_rights() { # give_rights DIR: those of the logins, of `sdewan` and `staged` as the project's documentation has them today
  python3 - "$HERE/../../../docs/drivers.md" "$1" <<'PY' || die "no rights found in docs/drivers.md"
import json, re, sys
fast, staged = [json.loads(x) for x in re.findall(r"```json\n(.*?)```", open(sys.argv[1]).read(), re.S)][:2]
every = {"ubus": {"*": ["*"]}, "uci": ["*"], "file": {"/*": ["*"]}}
for name, rights in {
    "sdewan-fast": fast,
    "sdewan-staged": {"sdewan-staged": staged["sdewan-agent"]},
    "device-full": {"device-full": {"description": "everything", "read": every, "write": every}},
    "device-view": {"device-view": {"description": "for tests: see what was written", "read": {"ubus": {"uci": ["get"]}, "uci": ["*"]}}},
}.items():
    json.dump(rights, open(f"{sys.argv[2]}/{name}.json", "w"))
PY
}
launch() { # launch DIR NAME ADDRESS:PORT [setsid]: does not return; this process becomes the one that holds the device
  exec ${4:-} unshare --mount --pid --fork --kill-child=KILL --propagation private --mount-proc "$HERE/init.sh" "$1" "$2" "$3"
}
end_device() { # end_device DIR: kills the one recorded process; the kernel ends all in its namespaces
  local init n
  if is_up "$1"; then
    init=$(first_child "$PID"); kill -KILL "$PID" 2>/dev/null || true
    for n in $(seq 100); do [ -n "$init" ] && [ -d "/proc/$init" ] && ! grep -q '^State:.Z' "/proc/$init/status" 2>/dev/null || break; sleep 0.05; done
  fi
  for n in $(seq 20); do rm -rf "$1" 2>/dev/null && break; sleep 0.1; done
  [ ! -e "$1" ] || { echo "could not remove $1" >&2; return 1; }
}
