#!/usr/bin/env bash
# sigs.k8s.io/yaml v1.6.0 (how kubectl reads a manifest), npm yaml 2.9.1 as YAML 1.2 and as 1.1, PyYAML 6.0.4, one plain scalar a line.
# The guess: kubectl speaks YAML 1.1, so a reader told to speak 1.1 gives what kubectl sends.
# Seen: no two of the four agree, the two of YAML 1.1 included. kubectl drops underscores wherever they stand, also at the end; takes
# octal or decimal by the digits (077 is 63, 078 is 78), and keeps colons as a text, where a MAC address of digits is a number for
# npm's 1.1 and, without leading zeros, for PyYAML. `y` is true for kubectl and not for PyYAML. What looks like an exponent and is out of
# range, as an id in hexadecimal may, is a text for kubectl, and for npm's yaml an infinite number, which JSON writes as null.
# Why it matters: ports, VLANs, table numbers, MAC addresses and ids in a rule change between a check in CI and kubectl apply.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GOMODCACHE="$tmp/mod" GOFLAGS='-mod=mod -modcacherw'
cat >scalars <<'EOF'
443_
0x_1F
077
078
01:02:03:04:05:06
10:11:12:13:14:15
y
12e456
1e3
EOF
cat >main.go <<'EOF'
package main

import (
	"bufio"
	"fmt"
	"os"
	"sigs.k8s.io/yaml"
)

func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		value, err := yaml.YAMLToJSON(lines.Bytes())
		fmt.Println(string(value), err == nil)
	}
}
EOF
cat >read.mjs <<'EOF'
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
for (const line of readFileSync(0, 'utf8').trimEnd().split('\n'))
  console.log(`${JSON.stringify(parse(line))} ${JSON.stringify(parse(line, { version: '1.1' }))}`);
EOF
python3 -m venv venv
{ venv/bin/pip install -q PyYAML==6.0.4 && npm install --no-audit --no-fund yaml@2.9.1 &&
  go mod init finding && go get sigs.k8s.io/yaml@v1.6.0; } >log 2>&1 || { cat log; exit 2; }
{ echo 'text kubectl npm-1.2 npm-1.1 PyYAML'
  paste -d ' ' scalars <(go run . <scalars | sed 's/ true$//') <(node read.mjs <scalars) \
    <(venv/bin/python -c 'import json, sys, yaml; [print(json.dumps(yaml.safe_load(line))) for line in sys.stdin]' <scalars); } | tee seen
diff - seen <<'EOF' || { echo 'changed: "<" was seen before, ">" now'; exit 1; }
text kubectl npm-1.2 npm-1.1 PyYAML
443_ 443 "443_" 443 443
0x_1F 31 "0x_1F" 31 31
077 63 77 63 63
078 78 78 78 "078"
01:02:03:04:05:06 "01:02:03:04:05:06" "01:02:03:04:05:06" 804182706 "01:02:03:04:05:06"
10:11:12:13:14:15 "10:11:12:13:14:15" "10:11:12:13:14:15" 7921199655 7921199655
y true "y" true "y"
12e456 "12e456" null null "12e456"
1e3 1000 1000 1000 "1e3"
EOF
