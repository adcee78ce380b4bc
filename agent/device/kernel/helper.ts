/**
 * The program of ours on OpenWRT that looks into its kernel: BusyBox' shell, started over ubus with one of its verbs as the only word, so
 * that the rights name them exactly. It hashes there, since rpcd passes on at most 256 KiB of what a program prints; what is longer is
 * left in a file, which is read in blocks.
 *
 * Measured: without `-s` nft prints counters, which change with every packet. `ip route show table all` lists both families. `ip rule add`
 * of a rule that is there is refused and changes nothing. What is put back in this way is removed by netifd as if it were its own.
 */

/** Where the last verb left what it found: in a folder that only root can write to. */
export const KERNEL_FILE = '/tmp/sdewan-kernel/found';

export const VERBS = ['state', 'dump', 'restore-routes'] as const;
export type Verb = (typeof VERBS)[number];

export const HELPER_SCRIPT = `#!/bin/sh
# Of the SD-EWAN agent: tells what the kernel holds, and brings routes and rules of package network back.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH LC_ALL=C
umask 077
FOUND=${KERNEL_FILE}

prepare() {
	folder=\${FOUND%/*}
	[ -d "$folder" ] || mkdir -m 700 "$folder" || exit 1
	[ -O "$folder" ] && [ ! -L "$folder" ] || exit 1
}

# Anybody's static routes and rules.
routing() {
	ip route show table all proto static
	echo inet; ip -4 rule
	echo inet6; ip -6 rule
}

restore_route() {
	local section=$1 family=$2 interface device target gateway table metric
	case $section in sdewan_*) ;; *) return 0 ;; esac
	config_get interface "$section" interface
	network_get_device device "$interface" || return 0
	config_get target "$section" target
	config_get gateway "$section" gateway
	config_get table "$section" table
	config_get metric "$section" metric "$(config_get "$interface" metric)"
	set -- "$target" \${gateway:+via "$gateway"} dev "$device" proto static
	ip "$family" route replace "$@" \${table:+table "$table"} \${metric:+metric "$metric"}
}

restore_rule() {
	local section=$1 family=$2 src dest mark lookup priority invert
	case $section in sdewan_*) ;; *) return 0 ;; esac
	config_get src "$section" src
	config_get dest "$section" dest
	config_get mark "$section" mark
	config_get lookup "$section" lookup
	config_get priority "$section" priority
	config_get_bool invert "$section" invert 0
	[ -n "$priority" ] || return 0
	set -- from "\${src:-all}" \${dest:+to "$dest"} \${mark:+fwmark "$mark"} lookup "$lookup"
	[ "$invert" = 0 ] || set -- not "$@"
	ip "$family" rule add "$@" prio "$priority"
}

case $1 in
state)
	nft list chains | grep -e '^table inet fw4 ' -e 'chain mwan3_hook '
	# Without routes of ours there is nothing to look for, which spares half of the time.
	grep -q sdewan_ /etc/config/network || exit 0
	prepare
	routing >"$FOUND"
	md5sum "$FOUND"
	;;
dump)
	prepare
	nft -s -t list table inet fw4 >"$FOUND" 2>/dev/null
	md5sum "$FOUND"
	;;
restore-routes)
	. /lib/functions.sh
	. /lib/functions/network.sh
	config_load network
	config_foreach restore_route route -4
	config_foreach restore_route route6 -6
	config_foreach restore_rule rule -4
	config_foreach restore_rule rule6 -6
	;;
*)
	exit 2
	;;
esac 2>/dev/null
`;
