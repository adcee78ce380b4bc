#!/bin/bash
# build.sh [--install] [SOURCES]: builds the userland into ${OPENWRT_DEVICE_DIR:-~/.cache/openwrt-device}; what is built already stays
#   SOURCES    a folder with clones (bare or not) of the repositories in sources.txt, each as OWNER/NAME, OWNER+NAME or OWNER+NAME/repo;
#              default: that of the last time. What has been taken from there is not needed again.
#   --install  installs the Debian packages that are missing
#   env: JOBS (default: the cores)   HEADS=1: each clone's HEAD instead of the commit in sources.txt (untested; patches may not fit)
set -eu; . "$(dirname "$(readlink -f "$0")")/lib.sh"
PACKAGES="git gcc g++ make cmake ninja-build pkg-config python3 openssl lemon bison libjson-c-dev liblua5.1-0-dev lua5.1 lua-socket libssl-dev libiptc-dev libxtables-dev
 iproute2 procps nftables iptables ipset conntrack jq curl iputils-ping busybox-static strongswan-swanctl strongswan-charon libcharon-extra-plugins keepalived"
INSTALL=; if [ "${1:-}" = --install ]; then INSTALL=1; shift; fi
[ $# = 1 ] || set -- "$(cat "$R/sources" 2>/dev/null || true)"
if [ -z "$1" ] && [ -d "$R/src" ]; then set -- "$R/src"; fi
[ $# = 1 ] && [ -d "$1" ] || die "usage: build.sh [--install] SOURCES (a folder with the clones listed in $HERE/sources.txt)"
SOURCES=$(cd "$1" && pwd); BEGAN=$(date +%s); JOBS=${JOBS:-$(nproc)}
say() { printf '%4ds %s\n' $(($(date +%s) - BEGAN)) "$*"; }
mkdir -p "$R"/{src,build,log,stamps,devices}; exec 7>"$R/.build-lock"; flock -n 7 || die "another build.sh runs in $R"

command -v dpkg-query >/dev/null || die "this needs Debian's packages (dpkg-query is missing)"
missing=; for p in $PACKAGES; do [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing="$missing $p"; done
if [ -n "$missing" ]; then
  [ -n "$INSTALL" ] || die "packages are missing:$missing (build.sh --install SOURCES installs them)"
  apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >"$R/log/apt.log" 2>&1 || { tail -5 "$R/log/apt.log" >&2; die "apt-get failed: $R/log/apt.log"; }
  say "installed$missing"
fi
[ -L /bin ] || die "/bin must be a link to /usr/bin (Debian since 12)"

# sources: the commits of sources.txt, without history
repository() { # repository OWNER/NAME
  local d; for d in "$SOURCES/$1" "$SOURCES/${1/\//+}/repo" "$SOURCES/${1/\//+}" "$SOURCES/$1.git"; do
    [ -e "$d/HEAD" ] && { echo "$d"; return; }; [ -e "$d/.git" ] && { echo "$d/.git"; return; }; done; return 1
}
g() { git -c safe.directory='*' --git-dir "$@"; }
source_stamp() { echo "$1 $2 $(sha256sum <"$HERE/patch.sh")"; } # source_stamp COMMIT PATHS
is_there() { [ -z "${HEADS:-}" ] && [ "$(cat "$R/stamps/src-$1" 2>/dev/null)" = "$(source_stamp "$2" "$3")" ]; }
absent=; while read -r name repo commit paths; do case $name in '' | '#'*) continue ;; esac
  is_there "$name" "$commit" "$paths" || repository "$repo" >/dev/null || absent="$absent $repo"; done <"$HERE/sources.txt"
[ -z "$absent" ] || die "not in $SOURCES:$absent (clone them from https://github.com/, e.g. into $SOURCES/OWNER/NAME)"
while read -r name repo commit paths; do case $name in '' | '#'*) continue ;; esac
  if is_there "$name" "$commit" "$paths"; then continue; fi
  dir=$(repository "$repo"); [ -z "${HEADS:-}" ] || commit=$(g "$dir" rev-parse HEAD)
  g "$dir" cat-file -e "$commit^{commit}" 2>/dev/null || die "$dir lacks commit $commit of $repo: fetch it there"
  stamp=$(source_stamp "$commit" "$paths"); [ "$(cat "$R/stamps/src-$name" 2>/dev/null)" != "$stamp" ] || continue
  rm -rf "$R/src/$name" "$R/build/$name" "$R/stamps/$name"; mkdir -p "$R/src/$name"
  # a clone may lack blobs of other folders, of which git complains
  g "$dir" archive -o "$R/src/$name.tar" "$commit" -- $paths </dev/null 2>"$R/log/src-$name.log" || { tail -3 "$R/log/src-$name.log" >&2; die "could not read $commit of $dir"; }
  tar xf "$R/src/$name.tar" -C "$R/src/$name"; rm "$R/src/$name.tar"
  (cd "$R/src/$name" && "$HERE/patch.sh" "$name"); echo "$stamp" >"$R/stamps/src-$name"
done <"$HERE/sources.txt"
[ "$SOURCES" = "$R/src" ] || echo "$SOURCES" >"$R/sources"
say "sources"

# the C parts, for prefix /usr (paths are compiled in), into stage/ and stage-icn/
export LD_LIBRARY_PATH=$R/stage/usr/lib LIBRARY_PATH=$R/stage/usr/lib; REBUILT=
component() { # component NAME STAGE [cmake options]: all after a rebuilt one are built again, because they link it
  local name=$1 stage=$R/$2 log=$R/log/$1.log stamp; shift 2
  stamp="$(cat "$R/stamps/src-$name") $* $stage"
  if [ -z "$REBUILT" ] && [ "$(cat "$R/stamps/$name" 2>/dev/null)" = "$stamp" ]; then return; fi
  REBUILT=1; rm -rf "$R/build/$name" "$R/stamps/$name"
  { cmake -S "$R/src/$name" -B "$R/build/$name" -G Ninja -Wno-dev -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=lib "-DCMAKE_PREFIX_PATH=$R/stage/usr" \
      -DCMAKE_BUILD_TYPE=Release -DCMAKE_POLICY_VERSION_MINIMUM=3.5 "-DCMAKE_C_FLAGS=-I$R/stage/usr/include -I$R/stage/usr/include/libnl-tiny -D_GNU_SOURCE -Wno-error -L$R/stage/usr/lib" "$@" &&
    { [ "$name" != netifd ] || cp "$R/src/netifd/make_ethtool_modes_h.sh" "$R/build/netifd/"; } &&
    cmake --build "$R/build/$name" -j "$JOBS" && DESTDIR=$stage cmake --install "$R/build/$name"; } >"$log" 2>&1 </dev/null ||
    { grep -nE 'error|undefined|not found|NOTFOUND' "$log" | head -15 >&2; die "$name does not build: $log"; }
  echo "$stamp" >"$R/stamps/$name"; say "$name"
}
component libubox stage -DBUILD_LUA=ON -DBUILD_EXAMPLES=OFF -DLUAPATH=/usr/lib/lua
component ubus stage -DBUILD_LUA=ON -DBUILD_EXAMPLES=OFF -DLUAPATH=/usr/lib/lua
component uci stage -DBUILD_LUA=ON -DLUAPATH=/usr/lib/lua
component ucode stage -DUBUS_SUPPORT=ON -DUCI_SUPPORT=ON -DULOOP_SUPPORT=ON -DNL80211_SUPPORT=OFF -DRTNL_SUPPORT=OFF
component rpcd stage -DFILE_SUPPORT=ON -DIWINFO_SUPPORT=OFF -DRPCSYS_SUPPORT=OFF -DUCODE_SUPPORT=ON
component lucihttp stage -DLUAPATH=/usr/lib/lua
component uhttpd stage -DTLS_SUPPORT=OFF -DLUA_SUPPORT=ON -DUCODE_SUPPORT=OFF -DUBUS_SUPPORT=ON
component libnl-tiny stage
component udebug stage -DRUNSTATEDIR=/var/run
component netifd stage -DCMAKE_INCLUDE_CURRENT_DIR=ON -DLIBNL_LIBS=nl-tiny
component firewall3 stage-icn -DDISABLE_STATIC_EXTENSIONS=1

# everything together: dest/ and, over it, dest-icn/
STAMP=$({ cat "$R"/stamps/*; cat "$HERE/build.sh" "$HERE/listen-outside.c"; cd "$HERE" && find rootfs rootfs-icn -type f -exec sha256sum {} +; } | sha256sum)
if [ "$(cat "$R/dest/built" 2>/dev/null)" != "$STAMP" ]; then
  for d in "$R"/devices/*; do if is_up "$d"; then die "devices are up and use what is to be replaced: down.sh --all first"; fi; done
  N=$R/dest.new I=$R/dest-icn.new; rm -rf "$N" "$I"; cp -a "$R/stage" "$N"; mkdir -p "$N"/{etc/config,usr/sbin,usr/lib/openwrt-device,usr/share/rpcd/acl.d,usr/share/www}
  L=$R/src/luci M=$N/usr/lib/lua; mkdir -p "$M/luci/template"
  cc() { gcc -shared -fPIC -O2 -w $(pkg-config --cflags lua5.1) -I"$N/usr/include" -std=gnu99 -D_GNU_SOURCE "$@"; }
  # LuCI 21.02
  for d in modules/luci-base libs/luci-lib-base modules/luci-compat themes/luci-theme-bootstrap; do [ ! -d "$L/$d/luasrc" ] || cp -r "$L/$d/luasrc/." "$M/luci/"; done
  for d in modules/luci-base themes/luci-theme-bootstrap; do cp -r "$L/$d/htdocs/." "$N/usr/share/www/"; done
  for d in modules/luci-base applications/luci-app-firewall modules/luci-mod-network libs/luci-lib-nixio; do [ ! -d "$L/$d/root" ] || cp -r "$L/$d/root/." "$N/"; done
  cp -r "$N/www/." "$N/usr/share/www/"; rm -rf "$N/www" "$N/etc/uci-defaults" "$M"/luci/controller/admin*; [ ! -d "$L/libs/luci-lib-nixio/lua" ] || cp -r "$L/libs/luci-lib-nixio/lua/." "$M/"
  B=$R/build/luci; rm -rf "$B"; mkdir -p "$B"; cp -r "$L/modules/luci-base/src/." "$B/"
  (cd "$B" && gcc -w -o lemon contrib/lemon.c && cp contrib/lempar.c . && ./lemon -q plural_formula.y && cc -DNDEBUG -o "$M/luci/template/parser.so" template_parser.c template_utils.c template_lmo.c template_lualib.c plural_formula.c) >"$R/log/luci.log" 2>&1 || die "LuCI's parser does not build: $R/log/luci.log"
  cc -o "$M/luci/jsonc.so" "$L/libs/luci-lib-jsonc/src/jsonc.c" -ljson-c
  cc -I"$N/usr/include/libnl-tiny" -o "$M/luci/ip.so" "$L/libs/luci-lib-ip/src/ip.c" -L"$N/usr/lib" -lnl-tiny -lm
  (cd "$L/libs/luci-lib-nixio/src" && cc -DNO_TLS -o "$M/nixio.so" nixio.c socket.c sockopt.c bind.c address.c protoent.c poll.c io.c file.c splice.c process.c syslog.c bit.c binary.c fs.c user.c -lcrypt -lm)
  printf 'module "luci.version"\ndistname="OpenWrt"\ndistversion="21.02"\nluciname="LuCI"\nluciversion="openwrt-device"\n' >"$M/luci/version.lua"
  cp -r "$R/src/icn/platform/cnf-openwrt/src/rest_v1" "$M/luci/controller/rest_v1"
  say "LuCI and ICN's REST"
  # firewall4, netifd's scripts, mwan3, the inits of swanctl and keepalived
  cp -r "$R/src/firewall4/root/." "$N/"; ln -sf ucode "$N/usr/bin/utpl"; cp -r "$R/src/rpcd/unauthenticated.json" "$N/usr/share/rpcd/acl.d/"
  mkdir -p "$N"/usr/lib/{netifd/proto,mwan3} "$N/usr/share/rpcd/ucode"; cp "$R"/src/netifd/scripts/*.sh "$N/usr/lib/netifd/"
  P=$R/src/packages/net; cp -r "$P/mwan3/files/etc/hotplug.d" "$N/etc/"; rm -f "$N/etc/hotplug.d/iface/16-mwan3-user"
  cp "$P/mwan3/files/etc/init.d/mwan3" "$N/etc/init.d/"; cp "$P"/mwan3/files/lib/mwan3/* "$N/usr/lib/mwan3/"; cp "$P"/mwan3/files/usr/sbin/* "$N/usr/sbin/"
  cp "$P/mwan3/files/usr/share/rpcd/ucode/mwan3" "$N/usr/share/rpcd/ucode/"; cp "$P/strongswan/files/swanctl.init" "$N/etc/init.d/swanctl"; cp "$P/keepalived/files/keepalived.init" "$N/etc/init.d/keepalived"
  for d in sbin lib; do [ ! -d "$N/$d" ] || { mkdir -p "$N/usr/$d"; cp -r "$N/$d/." "$N/usr/$d/"; rm -rf "${N:?}/$d"; }; done
  cp "$N/usr/bin/uci" "$N/usr/bin/ubus" "$N/usr/sbin/"   # images have them at either place
  # dash has no descriptor 1000, which these use
  sed -i '1s,.*,#!/bin/bash,' "$N/usr/sbin/fw4"; sed -i '1s,^#!/bin/sh,#!/bin/bash,' "$N"/usr/sbin/mwan3*; ln -sf bash "$N/usr/bin/sh"; ln -sf lua5.1 "$N/usr/bin/lua"
  cp -r "$HERE/rootfs/." "$N/"; cp "$R/src/firewall4/root/etc/config/firewall" "$N/etc/config/firewall"
  printf "\nconfig rule 'admin_ssh'\n\toption name 'Admin SSH'\n\toption src 'lan'\n\toption proto 'tcp'\n\toption dest_port '22'\n\toption target 'ACCEPT'\n" >>"$N/etc/config/firewall"
  gcc -shared -fPIC -O2 -w -o "$N/usr/lib/openwrt-device/listen-outside.so" "$HERE/listen-outside.c" -ldl
  mkdir -p "$N"/etc/ipsec.d/{certs,private,cacerts} "$N"/etc/swanctl/{x509,private,x509ca}
  # Debian's init scripts don't show through; where the file system can't hold the mark, at least not the one that would matter
  rm -f "$N/etc/init.d/ipsec"; python3 -c 'import os, sys; os.setxattr(sys.argv[1], "trusted.overlay.opaque", b"y")' "$N/etc/init.d" 2>/dev/null || mknod "$N/etc/init.d/ipsec" c 0 0
  # users; up.sh gives `sdewan` and `staged` their rights
  HASH=$(openssl passwd -5 sdewan); echo "root:$HASH:19000:0:99999:7:::" >"$N/etc/shadow"; chmod 600 "$N/etc/shadow"
  { printf "config rpcd\n\toption socket /var/run/ubus/ubus.sock\n\toption timeout 30\n"
    login() { printf "\nconfig login\n\toption username '%s'\n\toption password '%s'\n" "$1" "$2"; shift 2; for x; do printf "\tlist %s '%s'\n" "${x%%=*}" "${x#*=}"; done; }
    login root '$p$root' 'read=luci-*' read=unauthenticated 'write=luci-*'   # what a stock LuCI gives; '*' would take our files too
    login sdewan "$HASH" read=sdewan-agent read=device-view write=sdewan-agent
    login staged "$HASH" read=sdewan-staged read=device-view write=sdewan-staged
    login full "$HASH" read=device-full write=device-full; } >"$N/etc/config/rpcd"
  chmod +x "$N"/etc/rc.common "$N"/usr/sbin/mwan3* "$N/usr/sbin/hotplug-call" "$N/usr/bin/logger"; find "$N/etc/init.d" -type f -exec chmod +x {} +
  # ICN: its files as its Dockerfile copies them, firewall3 with the old iptables, busybox's ifconfig
  cp -a "$R/stage-icn" "$I"; mkdir -p "$I"/etc/config "$I/etc/init.d" "$I/usr/sbin"; Q=$R/src/icn/platform/cnf-openwrt/src
  cp "$Q"/{cnfroute,updown,updown_oip,sdewan.user,sdewan_svc.info,app_cr.info,route_cr.info,rule_cr.info} "$I/etc/"; cp "$Q/ipsec" "$I/etc/config/ipsec"; cp "$Q/default_firewall" "$I/etc/config/firewall"; : >"$I/etc/firewall.user"
  [ ! -d "$I/sbin" ] || { cp -r "$I/sbin/." "$I/usr/sbin/"; rm -rf "${I:?}/sbin"; }; mv "$I/usr/sbin/firewall3" "$I/usr/sbin/fw3"
  for t in iptables iptables-save iptables-restore ip6tables; do ln -sf xtables-legacy-multi "$I/usr/sbin/$t"; done
  for t in ifconfig route; do ln -sf /usr/bin/busybox "$I/usr/sbin/$t"; done
  cp -r "$HERE/rootfs-icn/." "$I/"; mknod "$I/usr/sbin/fw4" c 0 0; for f in etc/init.d/swanctl etc/init.d/keepalived etc/config/keepalived; do mknod "$I/$f" c 0 0; done   # 21.02 has none of them
  chmod +x "$I"/etc/init.d/* "$I"/etc/updown* "$I/etc/sdewan.user"
  tool_stamp >"$N/tool"; echo "$STAMP" >"$N/built"; rm -rf "$R/dest" "$R/dest-icn"; mv "$I" "$R/dest-icn"; mv "$N" "$R/dest"; say "device"
else say "all is built already"; fi
echo "built in $R ($(du -sh "$R/dest" | cut -f1) and, for ICN, $(du -sh "$R/dest-icn" | cut -f1); with sources and objects $(du -sh --exclude=devices "$R" | cut -f1)):"
for p in ubusd uci rpcd uhttpd ucode netifd fw4 mwan3; do f=$(ls "$R"/dest/usr/{sbin,bin}/$p 2>/dev/null | head -1); [ -n "$f" ] || die "$p is missing"; printf '%s ' "$p"; done
[ -x "$R/dest-icn/usr/sbin/fw3" ] || die "fw3 is missing"; echo "fw3, LuCI 21.02 with ICN's REST"
echo "next: $HERE/up.sh NAME"
