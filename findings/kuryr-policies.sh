#!/usr/bin/env bash
# kuryr-kubernetes 10.0.0 (PyPI) of 2024: the rules that it makes of a NetworkPolicy's ingress, without a cluster or Neutron.
# The guess: the order of ingress rules means nothing (each one allows), endPort is a range, an empty label matches itself.
# Seen: the empty rule `{}`, which allows all, counts only where it stands first. endPort is dropped without a word: the first port is open.
# A label whose value is empty is never matched by a selector that names it so.
# All of them close what the policy opens.
# Why it matters: policies that are moved from Kuryr to another place of enforcement let traffic pass that Kuryr never let.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
python3 -m venv venv
venv/bin/pip install -q kuryr-kubernetes==10.0.0 kuryr-lib==3.5.0 netaddr==1.3.0 openstacksdk==4.22.0 eventlet==0.41.3
cat >policies.py <<'EOF'
from kuryr_kubernetes.controller.drivers import network_policy, utils

driver = network_policy.NetworkPolicyDriver.__new__(network_policy.NetworkPolicyDriver)  # its __init__ asks for Neutron
some_policy = {'apiVersion': 'networking.k8s.io/v1', 'kind': 'NetworkPolicy', 'metadata': {'name': 'p', 'namespace': 'x'}}
some = {'from': [{'ipBlock': {'cidr': '192.0.2.0/28'}}]}


def show(title, ingress):
    rules = []
    spec = {'podSelector': {}, 'policyTypes': ['Ingress'], 'ingress': ingress}
    driver._parse_sg_rules(rules, 'ingress', {**some_policy, 'spec': spec})
    fields = ('ethertype', 'protocol', 'port_range_min', 'port_range_max', 'remote_ip_prefix')
    print(title, [tuple(rule['sgRule'].get(field) for field in fields) for rule in rules])


show('all, some:', [{}, some])
show('some, all:', [some, {}])
show('ports 80 to 90:', [{**some, 'ports': [{'protocol': 'TCP', 'port': 80, 'endPort': 90}]}])
for value in ('edge', ''):
    print(f'role={value!r}:', utils.match_selector({'matchLabels': {'role': value}}, {'role': value}))
EOF
venv/bin/python policies.py 2>log | tee seen || { cat log; exit 2; }
diff - seen <<'EOF' || { echo 'changed: "<" was seen before, ">" now'; exit 1; }
all, some: [('IPv4', None, None, None, None), ('IPv6', None, None, None, None), ('IPv4', None, None, None, '192.0.2.0/28')]
some, all: [('IPv4', None, None, None, '192.0.2.0/28')]
ports 80 to 90: [('IPv4', 'tcp', 80, 80, '192.0.2.0/28')]
role='edge': True
role='': False
EOF
