/** The names of ICMP types that OpenWRT's firewall knows (firewall4's tables, which hold all of ICN's); it skips a rule with another one. */
import { text } from '../schema.ts';

const NAMES: ReadonlySet<string> = new Set(
  `any ping pong redirect
  address-mask-reply address-mask-request address-unreachable bad-header
  certification-path-advertisement-message certification-path-solicitation-message
  communication-prohibited destination-unreachable duplicate-address-confirmation
  duplicate-address-request echo-reply echo-request extended-echo-reply extended-echo-request
  extended-ping extended-pong fmipv6-message fragmentation-needed
  home-agent-address-discovery-reply-message home-agent-address-discovery-request-message
  host-precedence-violation host-prohibited host-redirect host-unknown host-unreachable
  ilnpv6-locator-update-message inverse-neighbor-discovery-advertisement-message
  inverse-neighbor-discovery-solicitation-message
  inverse-neighbour-discovery-advertisement-message
  inverse-neighbour-discovery-solicitation-message ip-header-bad mobile-prefix-advertisement
  mobile-prefix-solicitation mpl-control-message multicast-listener-done multicast-listener-query
  multicast-listener-report multicast-router-advertisement multicast-router-solicitation
  multicast-router-termination neighbor-advertisement neighbor-solicitation
  neighbour-advertisement neighbour-solicitation network-prohibited network-redirect
  network-unknown network-unreachable no-route node-info-query node-info-response packet-too-big
  parameter-problem port-unreachable precedence-cutoff protocol-unreachable
  required-option-missing router-advertisement router-renumbering router-solicitation
  rpl-control-message seamoby-protocol-message source-quench source-route-failed time-exceeded
  timestamp-reply timestamp-request TOS-host-redirect TOS-host-unreachable TOS-network-redirect
  TOS-network-unreachable ttl-exceeded ttl-zero-during-reassembly ttl-zero-during-transit
  unknown-header-type unknown-option v2-multicast-listener-report`.split(/\s+/),
);

/** An item of a list of ICMP types. */
export const icmpTypeItem = () =>
  text({
    must: 'must be the name of an ICMP type such as echo-request, or its number as in 8 or 3/4',
    maxLength: 64,
    pattern: '[A-Za-z][A-Za-z0-9-]*|[0-9]{1,3}(/[0-9]{1,3})?',
    holds: (value) =>
      NAMES.has(value) ||
      (/^\d/.test(value) && value.split('/').every((half) => Number(half) <= 255)),
  });
