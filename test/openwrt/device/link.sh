#!/bin/bash
# link.sh A B: a wire between two devices (10.255.0.1 and 10.255.0.2 on `wire`), and in each a network of its own (10.1.0.1/24, 10.2.0.1/24)
set -eu; . "$(dirname "$(readlink -f "$0")")/lib.sh"
[ $# = 2 ] || die "usage: link.sh A B"
space() { is_up "$(device_dir "$1")" || die "$1 is not up"; first_child "$PID"; }
A=$(space "$1"); B=$(space "$2")
ip link add wire netns "$A" type veth peer name wire netns "$B"
for n in 1 2; do
  [ $n = 1 ] && P=$A || P=$B
  nsenter --target "$P" --net bash -c "ip addr replace 10.255.0.$n/30 dev wire; ip link set wire up; ip addr replace 10.$n.0.1/24 dev lo"
done
