/**
 * All kinds of rule CRs. The order is part of the product: rules of equal order annotation and age are configured in it,
 * so that what others refer to comes first.
 */
import { firewallRule } from './firewall-rule.ts';
import { firewallZone } from './firewall-zone.ts';
import type { KindDefinition } from './kind.ts';

export const kinds: readonly KindDefinition[] = [firewallZone, firewallRule];

const byKind = new Map(kinds.map((kind) => [kind.kind, kind]));

export const kindOf = (kind: string): KindDefinition | undefined => byKind.get(kind);

const places = new Map(kinds.map((kind, place) => [kind.kind, place]));

/** Place in the registry; unknown kinds come last. */
export const placeOf = (kind: string): number => places.get(kind) ?? kinds.length;
