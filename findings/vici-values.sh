#!/usr/bin/env bash
# strongSwan's own clients of its control protocol: vici 6.0.3 (PyPI) and github.com/strongswan/govici v0.8.0 (Go), same message.
# The guess: both write the truth values as swanctl.conf has them (yes, no), and a value that is not set is not sent.
# Seen: Go writes yes and no. Python writes the names that Python has: True, False, and the word None for a value that is not set;
# a tuple is one text with its brackets, where a list is a list. What is read back is bytes: b'False' is true. With Go's structs
# an empty list and an empty text are left out, so neither can clear a value, while false and 0 are sent.
# Why it matters: one tunnel, set up by a controller in Go and by a script in Python, reaches strongSwan in other words.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GOMODCACHE="$tmp/mod" GOFLAGS='-mod=mod -modcacherw'
python3 -m venv venv
venv/bin/pip install -q vici==6.0.3
cat >message.py <<'EOF'
from vici.protocol import FiniteStream, Message
message = {'mobike': True, 'encap': False, 'pools': None, 'proposals': ['a', 'b'], 'auth': ('a', 'b'), 'rekey': 0, 'none': [], 'id': ''}
for name, value in Message.deserialize(FiniteStream(Message.serialize(message))).items():
    print('python', name, value)
EOF
cat >main.go <<'EOF'
package main

import (
	"fmt"
	"github.com/strongswan/govici/vici"
)

func main() {
	m, err := vici.MarshalMessage(struct {
		Mobike    bool     `vici:"mobike"`
		Encap     bool     `vici:"encap"`
		Pools     *string  `vici:"pools"`
		Proposals []string `vici:"proposals"`
		Rekey     int      `vici:"rekey"`
		None      []string `vici:"none"`
		ID        string   `vici:"id"`
	}{Mobike: true, Proposals: []string{"a", "b"}, None: []string{}})
	if err != nil {
		panic(err)
	}
	for _, name := range m.Keys() {
		fmt.Println("go", name, m.Get(name))
	}
}
EOF
{ go mod init finding && go get github.com/strongswan/govici@v0.8.0; } >log 2>&1 || { cat log; exit 2; }
{ venv/bin/python message.py; go run .; } | tee seen
diff - seen <<'EOF' || { echo 'changed: "<" was seen before, ">" now'; exit 1; }
python mobike b'True'
python encap b'False'
python pools b'None'
python proposals [b'a', b'b']
python auth b"('a', 'b')"
python rekey b'0'
python none []
python id b''
go mobike yes
go encap no
go proposals [a b]
go rekey 0
EOF
