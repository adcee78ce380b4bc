#!/usr/bin/env bash
# pyroute2 0.9.7 and netaddr 1.3.0 (PyPI): what a route's destination becomes on its way to the kernel; nothing is sent.
# The guess: `10/8` is 10.0.0.0/8 as for `ip route`, or an error; behind the slash stands a prefix length or a netmask.
# Seen: for pyroute2 a destination of numbers and slashes is a stack of MPLS labels: `10/8` makes a route of family 28 with the labels
# 10 and 8, `10` one with label 10. A mask is never checked, its bits are counted: the wildcard mask 0.0.0.255, as routers' access
# lists have it, gives /8, which netaddr takes for /24, and 255.0.255.0 gives /16, which netaddr refuses.
# Why it matters: a list of networks that one tool has checked becomes routes to other networks, or of another protocol, in the next.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
python3 -m venv venv
venv/bin/pip install -q pyroute2==0.9.7 netaddr==1.3.0
cat >routes.py <<'EOF'
import netaddr
from pyroute2.requests.main import RequestProcessor
from pyroute2.requests.route import RouteFieldFilter, RouteIPRouteFilter

for dst in ('10.0.0.0/8', '10/8', '10', '10.0.0.0/255.255.255.0', '10.0.0.0/0.0.0.255', '10.0.0.0/255.0.255.0'):
    request = RequestProcessor(context={'dst': dst}, prime={'dst': dst})
    request.add_filter(RouteFieldFilter())
    request.add_filter(RouteIPRouteFilter('add'))
    request.finalize()
    found = request['dst']
    if int(request['family']) == 28:
        found = [label['label'] for label in (found if isinstance(found, list) else [found])]
    try:
        other = netaddr.IPNetwork(dst)
    except netaddr.AddrFormatError:
        other = 'refused'
    print(f"{dst}: family {int(request['family'])}, {found}/{request.get('dst_len')}; netaddr {other}")
EOF
venv/bin/python routes.py | tee seen
diff - seen <<'EOF' || { echo 'changed: "<" was seen before, ">" now'; exit 1; }
10.0.0.0/8: family 2, 10.0.0.0/8; netaddr 10.0.0.0/8
10/8: family 28, [10, 8]/None; netaddr refused
10: family 28, [10]/None; netaddr refused
10.0.0.0/255.255.255.0: family 2, 10.0.0.0/24; netaddr 10.0.0.0/24
10.0.0.0/0.0.0.255: family 2, 10.0.0.0/8; netaddr 10.0.0.0/24
10.0.0.0/255.0.255.0: family 2, 10.0.0.0/16; netaddr refused
EOF
