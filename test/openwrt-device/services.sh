# services.sh: what a device runs, of its first process (inner.sh in namespaces of this machine, pod.sh in a container)
# WEB: what starts uhttpd there, if anything. LISTEN: where it listens.
S=/run/openwrt-device
say() { echo "$*" >$S/state; }
fail() { say "failed: $*"; echo "failed: $*" >&2; exit 1; }
daemon() { local log=/var/log/$1.log; shift; "$@" >>$log 2>&1 </dev/null 9<&- & }

run_services() { # does not return
  daemon ubusd ubusd
  for i in $(seq 100); do [ -S /var/run/ubus/ubus.sock ] && break; sleep 0.05; done
  [ -S /var/run/ubus/ubus.sock ] || fail "ubusd does not start"
  daemon standin ucode /usr/lib/openwrt-device/standin.uc
  [ -z "${DEVICE_NETIFD:-}" ] || daemon netifd netifd -S -p /lib/netifd -h /sbin/hotplug-call -r /tmp/resolv.conf
  ubus -t 10 wait_for service network.interface || fail "no netifd, or its stand-in, on the bus"
  start_rpcd() { daemon rpcd rpcd; RPCD=$!; }
  start_rpcd
  ubus -t 10 wait_for session uci file || fail "rpcd does not start"
  daemon uhttpd "${WEB[@]}" env LUA_PATH="/usr/lib/lua/?.lua;/usr/lib/lua/?/init.lua;;" LUA_CPATH="/usr/lib/lua/?.so;;" \
    uhttpd -f -h /usr/share/www -p "$LISTEN" -u /ubus -l /cgi-bin/luci -L /usr/lib/lua/luci/sgi/uhttpd.lua -n 3 -N 100 -t 60 -T 30 -A 1
  UHTTPD=$!
  /etc/init.d/firewall boot >/var/log/firewall-boot.log 2>&1 9<&- || true
  # where the kernel has no ESP, charon does it itself, by the device ipsec0
  esp_in_kernel() { ip xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 1 enc 'cbc(aes)' 0x$(printf '%032d' 0) 2>/dev/null && ip xfrm state flush; }
  if [ -n "${DEVICE_MWAN3:-}" ]; then
    esp_in_kernel || echo 'kernel-libipsec { load = yes }' >/etc/strongswan.d/charon/kernel-libipsec.conf
    /etc/init.d/mwan3 start >/var/log/mwan3-boot.log 2>&1 9<&- || true
    if [ -z "${DEVICE_ICN:-}" ]; then for s in swanctl keepalived; do /etc/init.d/$s start >/var/log/$s-boot.log 2>&1 9<&- || true; done; fi
  fi
  kill -0 $UHTTPD 2>/dev/null || fail "uhttpd does not listen on $LISTEN: $(tail -1 /var/log/uhttpd.log)"
  exec 9<&-; say ready
  # as procd does: rpcd comes back 5 s after it ended
  set +e
  while :; do
    wait $RPCD; [ -d /proc/$RPCD ] && continue
    echo "$(date +%T) rpcd ended" >>/var/log/respawn.log; sleep 5; start_rpcd
  done
}
