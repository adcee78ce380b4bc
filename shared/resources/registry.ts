/**
 * All kinds of rule CRs. The order is part of the product: rules of equal order annotation and age
 * are configured in it, so that what others refer to comes first.
 */
import { cnfHubSite } from './rules/cnf-hub-site.ts';
import { cnfLocalService } from './rules/cnf-local-service.ts';
import { cnfNat } from './rules/cnf-nat.ts';
import { cnfRouteRule } from './rules/cnf-route-rule.ts';
import { cnfRoute } from './rules/cnf-route.ts';
import { cnfService } from './rules/cnf-service.ts';
import { firewallDnat } from './rules/firewall-dnat.ts';
import { firewallForwarding } from './rules/firewall-forwarding.ts';
import { firewallRule } from './rules/firewall-rule.ts';
import { firewallSnat } from './rules/firewall-snat.ts';
import { firewallZone } from './rules/firewall-zone.ts';
import { ipsecHost } from './rules/ipsec-host.ts';
import { ipsecProposal } from './rules/ipsec-proposal.ts';
import { ipsecSite } from './rules/ipsec-site.ts';
import type { KindDefinition } from './kind.ts';
import { mwan3Policy } from './rules/mwan3-policy.ts';
import { mwan3Rule } from './rules/mwan3-rule.ts';
import { networkFirewallRule } from './rules/network-firewall-rule.ts';
import { virtualAddress } from './rules/virtual-address.ts';
import { sdewanApplication } from './rules/sdewan-application.ts';

export const kinds: readonly KindDefinition[] = [
  firewallZone,
  firewallForwarding,
  firewallRule,
  firewallDnat,
  firewallSnat,
  networkFirewallRule,
  cnfNat,
  mwan3Policy,
  mwan3Rule,
  cnfRoute,
  cnfRouteRule,
  virtualAddress,
  sdewanApplication,
  ipsecProposal,
  ipsecHost,
  ipsecSite,
  cnfService,
  cnfLocalService,
  cnfHubSite,
];

/**
 * Those that agents apply to OpenWRT. The others only generate rules or inform: no agent reads them
 * or confirms that they are gone.
 */
export const agentKinds: readonly KindDefinition[] = kinds.filter(({ uci }) => uci !== undefined);

const byKind = new Map(kinds.map((kind) => [kind.kind, kind]));

export const kindOf = (kind: string): KindDefinition | undefined => byKind.get(kind);

const places = new Map(kinds.map((kind, place) => [kind.kind, place]));

/** Place in the registry; unknown kinds come last. */
export const placeOf = (kind: string): number => places.get(kind) ?? kinds.length;
