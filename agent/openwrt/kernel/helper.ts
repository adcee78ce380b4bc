/**
 * The program of ours on OpenWRT that looks into its kernel, and amends fw4's table: BusyBox'
 * shell, started over ubus with one of its verbs as the only word, so that the rights name them
 * exactly. It hashes there, since rpcd passes on at most 256 KiB of what a program prints; what is
 * longer is left in a file, which is read in blocks.
 *
 * Measured: without `-s` nft prints counters, which change with every packet. `ip route show table
 * all` lists both families. `ip rule add` of a rule that is there is refused and changes nothing.
 * What is put back in this way is removed by netifd as if it were its own.
 */

/** Where the last verb left what it found: in a folder that only root can write to. */
export const KERNEL_FILE = '/tmp/sdewan-kernel/found';

/** What two of the verbs read: excerpts of a package, and steps. Verbs make it as needed. */
export const EXCERPT_FILES = {
  before: '/tmp/sdewan-kernel/before/firewall',
  after: '/tmp/sdewan-kernel/after/firewall',
} as const;
export const STEPS_FILE = '/tmp/sdewan-kernel/steps';
/**
 * The table of policies: what nft is to load, and what it lists then. No other verb uses them, so
 * that each can run beside these.
 */
export const POLICIES_FILE = '/tmp/sdewan-kernel/policies';
export const POLICIES_LISTED = '/tmp/sdewan-kernel/policies-listed';

/** Which security associations of charon are to end, by their numbers. */
export const TUNNELS_FILE = '/tmp/sdewan-kernel/tunnels';

export const VERBS = [
  'state',
  'dump',
  'mwan3',
  'restore-routes',
  'render',
  'amend',
  'compare',
  'policies',
  'load-policies',
  'denied',
  'tunnels',
  'end-tunnels',
  'tunnel-log',
] as const;
export type Verb = (typeof VERBS)[number];

export const HELPER_SCRIPT = `#!/bin/sh
# Of the SD-EWAN agent: tells what the kernel holds, brings routes and rules of package network back, and amends fw4's table.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH LC_ALL=C
umask 077
FOUND=${KERNEL_FILE}
# A second name of fw4's file of state, so that its number is given to no other file. No file has names on two file systems.
STATE=/var/run/sdewan-fw4.state

prepare() {
	folder=\${FOUND%/*}
	[ -d "$folder" ] || mkdir -m 700 "$folder" || exit 1
	[ -O "$folder" ] && [ ! -L "$folder" ] || exit 1
	[ -d "$folder/after" ] || mkdir -p "$folder/before" "$folder/after"
}

# Anybody's static routes and rules, as far as package network has some of the kind.
routing() {
	case $1 in *"config route"*) ip route show table all proto static ;; esac
	echo inet
	case $1 in *"config rule "*) ip -4 rule ;; esac
	echo inet6
	case $1 in *"config rule6 "*) ip -6 rule ;; esac
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

# What fw4 makes of /etc/config/firewall.
made() {
	ACTION=print utpl -S /usr/share/firewall4/main.uc
}

# The same of both excerpts, beside each. One program does it, since most of its time goes by until fw4 is loaded. Of excerpts fw4 is not told which
# flowtables there are, for which nft would read all rules: a package that asks for one is always reloaded.
made_of_excerpts() {
	FOLDER=$folder ACTION=print utpl -S -T -e '{%
		let uci = require("uci"), fs = require("fs"), cursor = uci.cursor;
		fs.popen = () => ({ read: () => "{}", close: () => null });
		for (let view in [ "before", "after" ]) {
			let from = getenv("FOLDER") + "/" + view;
			uci.cursor = () => cursor(from, from + "/none");
			fs.writefile(from + "/made", render("/usr/share/firewall4/main.uc"));
		}
	%}' 2>"$folder/said"
}

# The same as a table of another name, which no packet comes to: nft prints it in the words in which it prints what is loaded.
as_table() {
	sed "s/^table inet fw4$/table inet $1/
		s/^flush table inet fw4$/delete table inet $1/
		s/^table inet fw4 {$/table inet $1 { flags dormant;/"
}

listed() {
	nft -a -s -t list table inet "$1"
}

# mwan3's chains of one family. It loads all of its rules or none: where there are others than it has tried to load, what is refused, and why.
chains_of_mwan3() {
	command -v "$1" || return 0
	chains=$("$1" -w -t mangle -S | grep -e '^-[NA] mwan3_rule' -e '^-[NA] mwan3_policy_')
	tried=/var/run/mwan3/iptables_log/iptables-set_user_rules-$2.dump
	printf '== %s\\n%s\\n' "$2" "$chains" >&3
	[ $(echo "$chains" | grep -c '^-A mwan3_rules ') != $(grep -c '^-A mwan3_rules ' "$tried") ] || return 0
	said=$("$1-restore" -T mangle -w -n --test <"$tried" 2>&1) && return 0
	line=$(echo "$said" | sed -n 's/^Error occurred at line: *//p')
	printf '== refused %s\\n%s\\n%s\\n' "$2" "$(sed -n "\${line:-1}p" "$tried")" "$said" >&3
}

# The same of a mwan3 that makes them with nft itself: in a table of its own, or in fw4's.
chains_in_nft() {
	echo '== nft'
	for table in mwan3 fw4; do
		nft -s -t list table inet $table | awk '$1 == "chain" && $2 ~ /^mwan3_/ { of = 1 }
			of
			/^\t}/ { of = 0 }'
	done
}

# Which table is loaded now. Each load of fw4 replaces its file of state, under this lock, so that the file is the same one as long as the
# table is; that spares nft, which would read all rules to list the tables, when the change has to be quick.
name_table() {
	exec 9>/var/run/fw4.lock
	flock -x 9
	ln -f /var/run/fw4.state "$STATE"
	nft -j list tables >"$folder/tables"
}

# Each rule with its place in its chain, without what a reload leaves of chains that nothing asks for any more.
in_order() {
	awk '$1 == "chain" { chain = $2; place = 0; next }
		$0 ~ /^\t}/ { chain = "" }
		chain != "" && NF { sub(/ # handle [0-9]+$/, ""); print chain, ++place, $0 }'
}

# The steps, but for the first line, as commands of nft: which rules of fw4's own making go behind or before which, and which go.
commands() {
	awk 'NR == FNR { if ($1 == "chain") { chain = $2; place = 0 }
			else if (/^\t\t/ && $1 != "type") rule[chain, ++place] = $0
			next }
		FNR == 1 { next }
		$2 !~ /^[A-Za-z0-9_.-]+$/ || $3 !~ /^[0-9]+$/ { exit 1 }
		$1 == "delete" && NF == 3 { print "delete rule inet fw4", $2, "handle", $3; next }
		($1 == "add" || $1 == "insert") && NF == 4 && ($2, $4) in rule {
			print $1, "rule inet fw4", $2, "handle", $3, rule[$2, $4]; next }
		{ exit 1 }' "$folder/after/made" "$folder/steps"
}

case $1 in
state)
	# How much room there is for a change, in two places: for packages, and for what rpcd stages and would go back to.
	df -Pk /etc/config /var/run/rpcd
	# To start a program takes longer than to pass on what is not looked for.
	chains=$(nft list chains)
	if [ \${#chains} -lt 65536 ]; then echo "$chains"; else echo "$chains" | grep -e '^table inet fw4 ' -e 'chain mwan3_hook ' -e 'chain mwan3_prerouting '; fi
	echo "charon $(pidof charon)"
	# Without routes and rules of ours there is nothing to look for.
	asked=$(grep -e '^config ro' -e '^config ru' /etc/config/network)
	case $asked in *sdewan_*) ;; *) exit 0 ;; esac
	prepare
	routing "$asked" >"$FOUND"
	md5sum "$FOUND"
	;;
dump)
	prepare
	listed fw4 >"$FOUND"
	md5sum "$FOUND"
	;;
mwan3)
	prepare
	# procd and mwan3's hotplug scripts have this lock while they work: what is read under it is whole, and of the uplinks as they are now.
	exec 9>>/var/lock/procd_mwan3.lock
	waited=0
	until flock -n -s 9; do
		[ $((waited += 1)) -le 12 ] || exit 0
		sleep 1
	done
	{
		printf '== online' >&3
		for file in /var/run/mwan3/iface_state/*; do
			read -r state <"$file" && [ "$state" = online ] && printf ' %s' "\${file##*/}" >&3
		done
		echo >&3
		if grep -q 'inet [mf]w' /lib/mwan3/common.sh; then
			chains_in_nft >&3
		else
			chains_of_mwan3 iptables ipv4
			chains_of_mwan3 ip6tables ipv6
		fi
	} 3>"$FOUND" >/dev/null
	md5sum "$FOUND"
	;;
render)
	prepare
	rm -f "$folder/before/made" "$folder/after/made"
	made_of_excerpts &
	name_table &
	text=$(
		echo '== fw4'
		cat /usr/share/ucode/fw4.uc /usr/share/firewall4/main.uc /usr/share/firewall4/templates/*.uc | md5sum
		echo '== included'
		cat /etc/nftables.d/*.nft /usr/share/nftables.d/*/*.nft /usr/share/nftables.d/*/*/*.nft |
			grep -v -e '^[[:space:]]*#' -e '^[[:space:]]*$'
	)
	wait
	text=$(
		echo "$text"
		echo '== said'
		cat "$folder/said"
		echo '== before'
		cat "$folder/before/made"
		echo '== after'
		cat "$folder/after/made"
	)
	# What is short is not worth a second call.
	if [ \${#text} -lt 65536 ]; then printf '%s\n' "$text"; exit 0; fi
	printf '%s\n' "$text" >"$FOUND"
	md5sum "$FOUND"
	;;
amend)
	prepare
	exec 9>/var/run/fw4.lock
	flock -x 9
	# A handle means the same rule, or none, for as long as the table is the one in which it was read.
	[ /var/run/fw4.state -ef "$STATE" ] || exit 3
	read -r table <"$folder/steps" && read -r tables <"$folder/tables" || exit 3
	case $tables in *'"family": "inet", "name": "fw4", "handle": '"$table}"*) ;; *) exit 3 ;; esac
	commands >"$folder/commands" && [ -s "$folder/commands" ] || exit 4
	nft -f "$folder/commands" || exit 5
	# The change is in force. The same in nft's own words, and what the table is now, for the agent, which sees whether it is as it should be.
	as_table sdewan_after <"$folder/after/made" | nft -f - || exit 6
	{
		echo '== made'
		listed sdewan_after
		echo '== loaded'
		listed fw4
	} >"$FOUND"
	nft delete table inet sdewan_after
	md5sum "$FOUND"
	;;
compare)
	prepare
	made | as_table sdewan_whole | nft -f - || exit 3
	listed sdewan_whole >"$folder/whole"
	nft delete table inet sdewan_whole
	in_order <"$folder/whole" | sort >"$folder/wanted"
	listed fw4 | in_order | sort >"$folder/held"
	[ -s "$folder/wanted" ] || exit 4
	sort "$folder/wanted" "$folder/held" | uniq -u | head -n 5
	;;
policies)
	# Whether the table itself is there, one of its sets shows; to list all of it takes long.
	nft list table inet sdewan_policy_rev
	nft -t list set inet sdewan_policy isolated_in_4
	exit 0
	;;
load-policies)
	prepare
	[ -s "$folder/policies" ] || exit 3
	if ! nft -f "$folder/policies" 2>"$folder/policies-said"; then
		echo '== refused'
		head -c 1000 "$folder/policies-said"
		exit 0
	fi
	{
		nft list table inet sdewan_policy_rev
		# nft lists one set at a time, and takes about as long for the whole table as for ten of them.
		sets=$(awk '$1 == "flush" { print $5 }' "$folder/policies")
		if [ -n "$sets" ] && [ $(echo "$sets" | wc -l) -le 10 ]; then
			for set in $sets; do nft list set inet sdewan_policy "$set"; done
		else
			nft list table inet sdewan_policy
		fi
	} >"$folder/policies-listed"
	# What is short is not worth a second call.
	if [ $(wc -c <"$folder/policies-listed") -lt 65536 ]; then cat "$folder/policies-listed"; exit 0; fi
	set -- $(md5sum "$folder/policies-listed")
	echo "== left $1"
	;;
denied)
	# Those that have counted something; to list them takes about as long as to list the table.
	nft list counters table inet sdewan_policy | awk '$1 == "counter" { name = $2 }
		$1 == "packets" && $2 > 0 { print name, $2 }' | head -n 4000
	;;
tunnels)
	prepare
	# Where charon does not run there are none.
	pidof charon >/dev/null || exit 0
	told=$(swanctl --list-sas && swanctl --list-pols && swanctl --list-conns) || exit 1
	# Of each the line with its name.
	echo "$told" | grep -E '^ *[^ ]+(: #[0-9]+, |: IKEv|[:,] T(UNNEL|RANSPORT))'
	exit 0
	;;
end-tunnels)
	# What catches packets for a connection: under its new name first, so that none gets by.
	while read -r kind remote connection; do
		case $remote$connection in '' | *[!A-Za-z0-9_]*) continue ;; esac
		case $kind in install | uninstall) swanctl "--$kind" --ike "$remote" --child "$connection" >/dev/null ;; esac
	done <"\${FOUND%/*}/tunnels"
	# Ten seconds for the other side to say that it knows, then without it.
	while read -r kind id; do
		case $kind in ike | child) ;; *) continue ;; esac
		case $id in '' | *[!0-9]*) continue ;; esac
		{
			swanctl --terminate "--$kind-id" "$id" --timeout 10 ||
				swanctl --terminate "--$kind-id" "$id" --force
		} >/dev/null &
	done <"\${FOUND%/*}/tunnels"
	wait
	# charon goes on by itself after a second.
	while read -r kind remote connection; do
		case $kind in start) ;; *) continue ;; esac
		case $remote$connection in '' | *[!A-Za-z0-9_]*) continue ;; esac
		swanctl --initiate --ike "$remote" --child "$connection" --timeout 1 >/dev/null &
	done <"\${FOUND%/*}/tunnels"
	wait
	;;
tunnel-log)
	logread | grep -E '[0-9]\\[(IKE|CFG|NET)\\] ' | tail -n 300
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
