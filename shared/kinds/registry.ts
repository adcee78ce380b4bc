/**
 * All kinds of rule CRs. The order is part of the product: rules of equal order annotation and age are configured in it,
 * so that what others refer to comes first.
 */
import { firewallDnat } from './firewall-dnat.ts';
import { firewallForwarding } from './firewall-forwarding.ts';
import { firewallRule } from './firewall-rule.ts';
import { firewallSnat } from './firewall-snat.ts';
import { firewallZone } from './firewall-zone.ts';
import type { KindDefinition } from './kind.ts';
import { mwan3Policy } from './mwan3-policy.ts';
import { mwan3Rule } from './mwan3-rule.ts';

export const kinds: readonly KindDefinition[] = [
  firewallZone,
  firewallForwarding,
  firewallRule,
  firewallDnat,
  firewallSnat,
  mwan3Policy,
  mwan3Rule,
];

const byKind = new Map(kinds.map((kind) => [kind.kind, kind]));

export const kindOf = (kind: string): KindDefinition | undefined => byKind.get(kind);

const places = new Map(kinds.map((kind, place) => [kind.kind, place]));

/** Place in the registry; unknown kinds come last. */
export const placeOf = (kind: string): number => places.get(kind) ?? kinds.length;
