#!/bin/bash
# pod.sh: a device's first process where it is a container of a pod (test/images/device.ts makes its image)
set -eu; . "$(dirname "$(readlink -f "$0")")/services.sh"
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEVICE_NETIFD=1
mkdir -p /run/{openwrt-device,ubus,rpcd,lock} /var/log
# netifd takes the addresses of what it is given, so it is given them again; eth0 it never sees: that is Kubernetes' own
{
  printf "config interface 'loopback'\n\toption device 'lo'\n\toption proto 'static'\n\tlist ipaddr '127.0.0.1/8'\n"
  for path in /sys/class/net/*; do
    name=${path##*/}; case $name in lo | eth0) continue ;; esac
    printf "\nconfig interface '%s'\n\toption device '%s'\n\toption proto 'static'\n" "$name" "$name"
    ip -o -4 addr show dev "$name" | while read -r _ _ _ address _; do printf "\tlist ipaddr '%s'\n" "$address"; done
  done
} >/etc/config/network
trap 'exit 0' TERM
WEB=() LISTEN=0.0.0.0:80
run_services
