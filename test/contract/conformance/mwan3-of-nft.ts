/**
 * In the place of mwan3 on a device: what gives nft the commands that mwan3 3.6 gives it, whose own
 * scripts no package of OpenWRT has.
 */

const LIBRARY = String.raw`
. /lib/functions.sh
TABLE='inet mwan3' FREE='meta mark & 0x3f00 == 0' STATE=/var/run/mwan3/iface_state
marked() { printf 'meta mark set meta mark & 0xffffc0ff | 0x%x' $1; }
uplink() {
	config_get family "$1" family ipv4
	ip=ip; [ $family = ipv4 ] || ip=ip6
	mark=$((mark + 0x100))
	export "mark_$1=$mark"
	printf "add rule $TABLE mwan3_or_meta_0x%x meta mark set meta mark | 0x%x\n" $mark $mark |
		sed 's/^add rule \(.*\) meta mark set/add chain \1\n&/'
	[ "$(cat $STATE/$1)" = online ] || return
	echo "add chain $TABLE mwan3_iface_in_$1"
	echo "add rule $TABLE mwan3_iface_in_$1 iifname \"$1\" meta nfproto $family $ip saddr @mwan3_connected_v@{family#ipv} $FREE $(marked 0x3f00)"
	echo "add rule $TABLE mwan3_iface_in_$1 iifname \"$1\" meta nfproto $family $FREE $(marked $mark)"
	echo "add rule $TABLE mwan3_ifaces_in $FREE jump mwan3_iface_in_$1"
}
member() {
	config_get interface "$1" interface
	config_get metric "$1" metric 1
	config_get weight "$1" weight 1
	config_get its "$interface" family ipv4
	[ $its = $family ] && [ "$(cat $STATE/$interface)" = online ] && [ $metric -le $best ] || return
	[ $metric = $best ] || { best=$metric shares= count=0 total=0; }
	eval "mark=\$mark_$interface"
	shares="$shares@{shares:+, }$total-$((total + weight - 1)) : jump mwan3_or_meta_$(printf 0x%x $mark)"
	count=$((count + 1)) total=$((total + weight))
}
policy() {
	echo "add chain $TABLE mwan3_policy_$1"
	guard=
	for family in ipv4 ipv6 again ipv4 ipv6; do
		[ $family != again ] || { [ "$guard" = xx ] && guard='meta nfproto' || guard=none; continue; }
		best=256 shares= count=0 total=0
		config_list_foreach "$1" use_member member
		[ $count != 0 ] || continue
		case $guard in '' | x) guard=x$guard; continue ;; esac
		only="$guard $family"; [ "$guard" != none ] || only=
		verdict="numgen inc mod $total vmap { $shares }"; [ $count != 1 ] || verdict=$(marked $mark)
		echo "add rule $TABLE mwan3_policy_$1 $only $FREE $verdict"
	done
	config_get last "$1" last_resort unreachable
	echo "add rule $TABLE mwan3_policy_$1 $FREE $(built_in $last)"
}
built_in() {
	case $1 in default) marked 0x3f00 ;; blackhole) marked 0x3d00 ;; *) marked 0x3e00 ;; esac
}
rule() {
	for one in proto:all src_ip: dest_ip: src_port: dest_port: use_policy: family:any sticky:0; do
		config_get "@{one%:*}" "$1" "@{one%:*}" "@{one#*:}"
	done
	case $family in ipv4 | ipv6) [ $family = $ipv ] || return ;; esac
	ip=ip; [ $ipv = ipv4 ] || ip=ip6
	[ "$family$ipv$src_ip$dest_ip" != anyipv6 ] || [ $proto = icmp ] || return
	case $ipv$src_ip$dest_ip in ipv4*:* | ipv6*.*.*) return ;; esac
	[ "$proto$ipv" != icmpipv6 ] || proto=ipv6-icmp
	set -- "$1" "$use_policy"
	text=
	[ $proto = all ] || text="meta l4proto $proto"
	[ -z "$src_ip" ] || text="$text $ip saddr $src_ip"
	[ -z "$dest_ip" ] || text="$text $ip daddr $dest_ip"
	case $proto in
	tcp | udp)
		[ -z "$src_port" ] || text="$text th sport { $(echo $src_port | sed 's/:/-/g; s/,/, /g') }"
		[ -z "$dest_port" ] || text="$text th dport { $(echo $dest_port | sed 's/:/-/g; s/,/, /g') }"
		;;
	esac
	case $family$src_ip$dest_ip in ipv4 | ipv6) text="$text meta nfproto $family" ;; esac
	case $2 in
	default | unreachable | blackhole) verdict=$(built_in $2) ;;
	*)
		verdict="jump mwan3_policy_$2"
		[ $sticky = 0 ] || {
			echo "add chain $TABLE mwan3_rule_$1"
			echo "add rule $TABLE mwan3_rule_$1 $FREE jump mwan3_policy_$2"
			verdict="jump mwan3_rule_$1"
		}
		;;
	esac
	echo "add rule $TABLE mwan3_rules $text $FREE $verdict"
}
commands() {
	config_load mwan3
	echo "add table $TABLE
delete table $TABLE
add table $TABLE
add set $TABLE mwan3_connected_v4 { type ipv4_addr; flags interval; auto-merge; }
add set $TABLE mwan3_connected_v6 { type ipv6_addr; flags interval; auto-merge; }
add chain $TABLE mwan3_prerouting { type filter hook prerouting priority mangle + 1; policy accept; }
add chain $TABLE mwan3_ifaces_in
add chain $TABLE mwan3_rules
add rule $TABLE mwan3_prerouting $FREE jump mwan3_ifaces_in
add rule $TABLE mwan3_prerouting $FREE jump mwan3_rules"
	mark=0
	config_foreach uplink interface
	config_foreach policy policy
	for ipv in ipv4 ipv6; do config_foreach rule rule; done
}
load() {
	commands >/tmp/mwan3.nft
	nft -f /tmp/mwan3.nft || logger -t mwan3 "nft: $(nft -f /tmp/mwan3.nft 2>&1)"
}
`.replaceAll('@{', '${');

const INIT = `#!/bin/sh /etc/rc.common
START=20
online() { echo online >/var/run/mwan3/iface_state/$1; }
start() {
	. /lib/mwan3/common.sh
	mkdir -p $STATE
	config_load mwan3
	config_foreach online interface
	load
}
stop() { nft delete table inet mwan3; rm -rf /var/run/mwan3; }
reload() { stop; start; }
`;

/** Both are scripts to be run on the device. */
export const PUT_NFT_MWAN3 = `/etc/init.d/mwan3 stop >/dev/null 2>&1
mkdir /tmp/mwan3.was; mv /lib/mwan3 /tmp/mwan3.was/lib; mv /etc/init.d/mwan3 /tmp/mwan3.was/init; mv /etc/hotplug.d/iface/15-mwan3 /tmp/mwan3.was/plug
mkdir /lib/mwan3
cat >/lib/mwan3/common.sh <<'END'
${LIBRARY}
END
cat >/etc/init.d/mwan3 <<'END'
${INIT}
END
chmod 755 /etc/init.d/mwan3
/etc/init.d/mwan3 restart >/dev/null 2>&1
`;
export const REMOVE_NFT_MWAN3 = `/etc/init.d/mwan3 stop >/dev/null 2>&1
rm -rf /lib/mwan3
mv /tmp/mwan3.was/lib /lib/mwan3; mv /tmp/mwan3.was/init /etc/init.d/mwan3; mv /tmp/mwan3.was/plug /etc/hotplug.d/iface/15-mwan3
rmdir /tmp/mwan3.was
/etc/init.d/mwan3 restart >/dev/null 2>&1
`;
