#!/bin/sh
# pod.sh: a device's first process where it is a container of a pod (test/images/device.ts makes its image); becomes OpenWRT's init
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root container=pod
# netifd takes the addresses of what it is given, so it is given them again; eth0 it never sees: that is Kubernetes' own
{
  printf "config interface 'loopback'\n\toption device 'lo'\n\toption proto 'static'\n\tlist ipaddr '127.0.0.1/8'\n"
  for path in /sys/class/net/*; do
    name=${path##*/}; case $name in lo | eth0) continue ;; esac
    printf "\nconfig interface '%s'\n\toption device '%s'\n\toption proto 'static'\n" "$name" "$name"
    ip -o -4 addr show dev "$name" | while read -r _ _ _ address _; do printf "\tlist ipaddr '%s'\n" "$address"; done
  done
} >/etc/config/network
exec /sbin/init
