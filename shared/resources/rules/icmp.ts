/** The names of ICMP types that OpenWRT's firewall knows (firewall4's tables, which hold all of ICN's); it skips a rule with another one. */
import { digits, NO_ZEROS } from '../fields.ts';
import { text } from '../schema.ts';

const namesIn = (text: string): readonly string[] => text.split(/\s+/);
const IN_BOTH = namesIn(
  `communication-prohibited destination-unreachable echo-reply echo-request parameter-problem ping pong
  port-unreachable redirect router-advertisement router-solicitation time-exceeded ttl-exceeded
  ttl-zero-during-reassembly ttl-zero-during-transit`,
);
const IN_IPV4 = namesIn(
  `TOS-host-redirect TOS-host-unreachable TOS-network-redirect TOS-network-unreachable
  address-mask-reply address-mask-request any fragmentation-needed host-precedence-violation
  host-prohibited host-redirect host-unknown host-unreachable ip-header-bad network-prohibited
  network-redirect network-unknown network-unreachable precedence-cutoff protocol-unreachable
  required-option-missing source-quench source-route-failed timestamp-reply timestamp-request`,
);
const IN_IPV6 = namesIn(
  `address-unreachable bad-header certification-path-advertisement-message
  certification-path-solicitation-message duplicate-address-confirmation duplicate-address-request
  extended-echo-reply extended-echo-request extended-ping extended-pong fmipv6-message
  home-agent-address-discovery-reply-message home-agent-address-discovery-request-message
  ilnpv6-locator-update-message inverse-neighbor-discovery-advertisement-message
  inverse-neighbor-discovery-solicitation-message inverse-neighbour-discovery-advertisement-message
  inverse-neighbour-discovery-solicitation-message mobile-prefix-advertisement
  mobile-prefix-solicitation mpl-control-message multicast-listener-done multicast-listener-query
  multicast-listener-report multicast-router-advertisement multicast-router-solicitation
  multicast-router-termination neighbor-advertisement neighbor-solicitation neighbour-advertisement
  neighbour-solicitation no-route node-info-query node-info-response packet-too-big router-renumbering
  rpl-control-message seamoby-protocol-message unknown-header-type unknown-option
  v2-multicast-listener-report`,
);
const NAMES = {
  4: new Set([...IN_BOTH, ...IN_IPV4]),
  6: new Set([...IN_BOTH, ...IN_IPV6]),
} as const;

/** Whether it is a type of ICMP in this version of IP; a number is one in both. */
export const hasTypeIn = (version: 4 | 6, type: string): boolean =>
  /^\d/.test(type) || NAMES[version].has(type);

/** An item of a list of ICMP types. */
export const icmpTypeItem = () =>
  text({
    must: `must be the name of an ICMP type such as echo-request, or its number as in 8 or 3/4, ${NO_ZEROS}`,
    maxLength: 64,
    pattern: `[A-Za-z][A-Za-z0-9-]*|${digits(3)}(/${digits(3)})?`,
    holds: (value) =>
      NAMES[4].has(value) ||
      NAMES[6].has(value) ||
      (/^\d/.test(value) && value.split('/').every((half) => Number(half) <= 255)),
  });
