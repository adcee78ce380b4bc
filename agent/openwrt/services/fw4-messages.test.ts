import { describe, expect, it } from 'vitest';
import { effectOf, type Effect } from './fw4-messages.ts';

/**
 * Each message about a section that firewall4's fw4.uc (b6e5157) can print, in its order; as it
 * stands there, with an example in it.
 */
const MESSAGES: readonly [message: string, effect: Effect][] = [
  // parse_options, parse_opt, parse_list
  ["option 'src' must not be negated", 'failure'],
  ["option '_name' is deprecated by fw4", 'none'],
  ["option 'extra' is not supported by fw4", 'wider'],
  ["option 'monthdays' is not supported by fw4", 'wider'],
  ["option 'custom_chains' is not supported by fw4", 'none'],
  ["specifies unknown option 'ipset2'", 'wider'],
  ["specifies unknown option 'counter'", 'none'],
  ["option 'name' is mandatory but not set", 'failure'],
  ["option 'src_ip' must not be a list", 'failure'],
  ["option 'src_ip' specifies invalid value '10.0.0.300'", 'failure'],
  // defaults
  [': ignoring duplicate defaults section', 'failure'],
  // zone
  ['skipped due to invalid options', 'failure'],
  ['is disabled, ignoring section', 'none'],
  ["uses unavailable ct helper 'ftp'", 'failure'],
  ["option 'mtu_fix' requires kernel 4.10 or later", 'failure'],
  ['is restricted to IPv4 but referenced subnet list is IPv6 only, skipping', 'failure'],
  ["skipping invalid wildcard pattern 'a+b'", 'failure'],
  // forwarding, rule, redirect, nat
  [
    'references IPv6 only destination zone but is restricted to IPv4 by undefined, skipping',
    'failure',
  ],
  ["must specify a source zone for target 'notrack'", 'failure'],
  ["must specify option 'set_dscp' for target 'dscp'", 'failure'],
  ["must specify option 'set_mark' or 'set_xmark' for target 'mark'", 'failure'],
  ["must specify option 'set_helper' for target 'helper'", 'failure'],
  ["must not specify '*' as device", 'failure'],
  ["references unknown set 'blocked'", 'failure'],
  ['references named set with port match but no UDP/TCP protocol, ignoring section', 'failure'],
  ['destination MAC address matching not supported', 'failure'],
  ['has invalid target specified, defaulting to dnat', 'failure'],
  ['has no source specified', 'failure'],
  ["must not have source '*' for dnat target", 'failure'],
  ["must not specify a negated 'dest_ip' value", 'failure'],
  ["must not use non-contiguous masks in 'dest_ip'", 'failure'],
  ["does not specify a destination, assuming 'lan'", 'none'],
  ['has no destination specified', 'failure'],
  ["must not have destination '*' for snat target", 'failure'],
  ["has no 'src_dip' option specified", 'failure'],
  ["must not specify a negated 'src_dip' value", 'failure'],
  ["must not use non-contiguous masks in 'src_dip'", 'failure'],
  ["must not use 'src_mac' option for snat target", 'failure'],
  ["must not use 'helper' option for snat target", 'failure'],
  ['is restricted to IPv4 but referenced reflection zone is IPv6 only, skipping', 'none'],
  ['internal rewrite IP cannot be determined, disabling reflection', 'none'],
  ['internal address range cannot be determined, disabling reflection', 'none'],
  ['external address range cannot be determined, disabling reflection', 'none'],
  ['specifies multiple rewrite addresses, using only first one', 'failure'],
  ['has invalid target specified, defaulting to masquerade', 'failure'],
  ["needs either 'snat_ip' or 'snat_port' for target snat, ignoring section", 'failure'],
  ["must not use 'snat_ip' for non-snat target, ignoring section", 'failure'],
  ["must not use 'snat_port' for non-snat target, ignoring section", 'failure'],
  ['specifies ports but no UDP/TCP protocol, ignoring section', 'failure'],
  ["must not use inversion or non-contiguous masks in 'snat_ip', ignoring section", 'failure'],
  // include
  ['is not marked as compatible with fw4, ignoring section', 'failure'],
  ["requires 'option fw4_compatible 1' to be considered compatible", 'failure'],
  ["must not specify 'table' for non-nftables includes, ignoring section", 'failure'],
  ["specifies 'chain' which has no effect for position table-append", 'none'],
  ["must specify 'chain' for position chain-prepend, ignoring section", 'failure'],
  ["specifies unreachable path '/etc/x', ignoring section", 'failure'],
  // ipset
  ['has no datatypes assigned', 'failure'],
  ["must not specify family 'any' when matching type 'ip' or 'net'", 'failure'],
  ["match type 'set' is not supported", 'failure'],
  ["match type 'net' requires kernel 5.6 or later", 'failure'],
  ["ignoring invalid ipset entry '10.0.0.300'", 'failure'],
];

describe('after what fw4 says of a section', () => {
  it.each(MESSAGES)('%s: %s', (message, effect) => {
    expect(effectOf(message)).toBe(effect);
  });

  it('takes a message that no known fw4 prints for a failure', () => {
    expect(effectOf('is something new')).toBe('failure');
  });
});
