#!/usr/bin/env bash
# libuci (as bundled by libuci-sys 1.0.5 from crates.io), netjsonconfig 1.3.1 and uciparse 0.3.0 (PyPI), on one file of /etc/config.
# The guess: a file without errors has one meaning, and a line holds one option.
# Seen: an unquoted semicolon ends a line for libuci, which goes on with the next command behind it or drops what is none, without
# an error. An option behind a list of its name removes the list, a list item behind an option turns that into a list, and
# a section that comes twice is one. netjsonconfig takes semicolon and comment into the value, drops an apostrophe, keeps two
# sections; uciparse refuses a line of two commands and normalizes `lan;guest` to one value that OpenWRT never had.
# Why it matters: OpenWRT is in force with what libuci reads. Such a tool shows, compares and writes back other rules than the router has.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/crate/src" "$tmp/etc" && cd "$tmp/crate"
printf '[package]\nname = "none"\nversion = "0.0.0"\n[dependencies]\nlibuci-sys = "=1.0.5"\n' >Cargo.toml
touch src/lib.rs
CARGO_HOME="$tmp/cargo" cargo fetch --quiet
sources=$(echo "$tmp"/cargo/registry/src/*/libuci-sys-1.0.5)
built() {
  cmake -S "$sources/$1" -B "$tmp/$1" -DBUILD_LUA=OFF -DBUILD_EXAMPLES=OFF -DCMAKE_C_FLAGS=-w -Wno-dev \
    -DCMAKE_INSTALL_PREFIX="$tmp/out" -Dubox_include_dir="$tmp/out/include" -DCMAKE_PREFIX_PATH="$tmp/out"
  cmake --build "$tmp/$1" --target install
}
{ built libubox && built uci; } >"$tmp/log" 2>&1 || { tail "$tmp/log"; exit 2; }
python3 -m venv "$tmp/venv"
"$tmp/venv/bin/pip" install -q netjsonconfig==1.3.1 uciparse==0.3.0
cat >"$tmp/etc/firewall" <<'EOF'
config rule 'one'
	option src lan; option dest wan
	option name lan;guest
config rule 'two'
	list proto tcp
	option proto udp
	option dest_port 80#90
config rule 'three'
	option proto tcp
	list proto udp
	option name "it's"
config rule 'one'
	option target ACCEPT
EOF
cat >"$tmp/read.py" <<'EOF'
import sys
from netjsonconfig import OpenWrt
from uciparse.uci import UciFile
lines = open(sys.argv[1]).read().splitlines(True)
text = ''.join(line for line in lines if 'list proto udp' not in line)
for rule in OpenWrt(native='package firewall\n\n' + text).config['firewall']:
    print('netjsonconfig', rule.pop('config_value'), sorted((k, v) for k, v in rule.items() if k != 'config_name'))
for at in (1, 2, 6):
    try:
        print('uciparse', UciFile.from_lines(lines[at:at + 1]).normalized()[0].strip())
    except Exception as error:
        print('uciparse', error)
EOF
{ LD_LIBRARY_PATH="$tmp/out/lib" "$tmp/out/bin/uci" -c "$tmp/etc" show firewall
  "$tmp/venv/bin/python" "$tmp/read.py" "$tmp/etc/firewall"; } | tee "$tmp/seen"
diff - "$tmp/seen" <<'EOF' || { echo 'changed: "<" was seen before, ">" now'; exit 1; }
firewall.one=rule
firewall.one.src='lan'
firewall.one.name='lan'
firewall.one.target='ACCEPT'
firewall.two=rule
firewall.two.proto='udp'
firewall.two.dest_port='80'
firewall.three=rule
firewall.three.proto='tcp' 'udp'
firewall.three.name='it'\''s'
netjsonconfig one [('name', 'lan;guest'), ('src', 'lan; option dest wan')]
netjsonconfig two [('dest_port', '80#90'), ('proto', 'udp')]
netjsonconfig three [('name', 'its'), ('proto', 'tcp')]
netjsonconfig one [('target', 'ACCEPT')]
uciparse Error on line 1: invalid option line
uciparse option name 'lan;guest'
uciparse option dest_port '80'  #90
EOF
