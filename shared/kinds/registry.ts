/**
 * All kinds of rule CRs. The order is part of the product: rules of equal order annotation and age are configured in it,
 * so that what others refer to comes first.
 */
import { cnfHubSite } from './cnf-hub-site.ts';
import { cnfLocalService } from './cnf-local-service.ts';
import { cnfNat } from './cnf-nat.ts';
import { cnfRouteRule } from './cnf-route-rule.ts';
import { cnfRoute } from './cnf-route.ts';
import { cnfService } from './cnf-service.ts';
import { firewallDnat } from './firewall-dnat.ts';
import { firewallForwarding } from './firewall-forwarding.ts';
import { firewallRule } from './firewall-rule.ts';
import { firewallSnat } from './firewall-snat.ts';
import { firewallZone } from './firewall-zone.ts';
import { ipsecHost } from './ipsec-host.ts';
import { ipsecProposal } from './ipsec-proposal.ts';
import { ipsecSite } from './ipsec-site.ts';
import type { KindDefinition } from './kind.ts';
import { mwan3Policy } from './mwan3-policy.ts';
import { mwan3Rule } from './mwan3-rule.ts';
import { networkFirewallRule } from './network-firewall-rule.ts';
import { sdewanApplication } from './sdewan-application.ts';

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
  sdewanApplication,
  ipsecProposal,
  ipsecHost,
  ipsecSite,
  cnfService,
  cnfLocalService,
  cnfHubSite,
];

/** Those that agents apply to OpenWRT. The others only make or tell something: no agent reads them or confirms that they are gone. */
export const agentKinds: readonly KindDefinition[] = kinds.filter(({ uci }) => uci !== undefined);

const byKind = new Map(kinds.map((kind) => [kind.kind, kind]));

export const kindOf = (kind: string): KindDefinition | undefined => byKind.get(kind);

const places = new Map(kinds.map((kind, place) => [kind.kind, place]));

/** Place in the registry; unknown kinds come last. */
export const placeOf = (kind: string): number => places.get(kind) ?? kinds.length;
