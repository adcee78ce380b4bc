#!/bin/sh
# Collects below $1 what a bundled program needs at run time and nothing else: Node, the libraries it is linked to, a
# few tools for exec probes (further ones are named after $1), and a user. An image made of it is smaller than its base
# and has no package manager. Works in any image with Node and a shell: Debian, Alpine, the local base of `npm run images`.
set -eu
out=$1
shift

# Where a program is, links resolved. `command -v` will not do: a busybox shell answers with bare names.
path_of() {
  for directory in /usr/local/bin /usr/bin /bin; do
    if [ -x "$directory/$1" ]; then
      readlink -f "$directory/$1"
      return
    fi
  done
}

# A program or library, and what it is linked to, at the paths where the loader looks.
put() {
  [ ! -e "$out$1" ] || return 0
  mkdir -p "$out$(dirname "$1")"
  cp -L "$1" "$out$1"
  for library in $(ldd "$1" 2>/dev/null | sed -n 's/.*=> *\(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p'); do
    put "$library"
  done
}

link() {
  mkdir -p "$out$(dirname "$2")"
  [ -e "$out$2" ] || ln -s "$1" "$out$2"
}

node=$(path_of node)
put "$node"
link "$node" /usr/local/bin/node
strip=$(path_of strip)
[ -z "$strip" ] || "$strip" "$out$node"

busybox=$(path_of busybox)
for tool in sh test '[' find cat ls sleep "$@"; do
  program=${busybox:-$(path_of "$tool")}
  put "${program:?no $tool in this base image}"
  link "$program" "/bin/$tool"
done

mkdir -p "$out/etc" "$out/tmp"
chmod 1777 "$out/tmp"
printf 'root:x:0:0:root:/:/bin/sh\nsdewan:x:65532:65532::/:/bin/sh\n' >"$out/etc/passwd"
printf 'root:x:0:\nsdewan:x:65532:\n' >"$out/etc/group"
# Without it, glibc asks the cluster's DNS for localhost.
printf 'hosts: files dns\n' >"$out/etc/nsswitch.conf"
