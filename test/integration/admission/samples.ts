/**
 * A valid CR of every kind, taken from its samples, and variations of it: whatever kind comes next
 * is tested alike.
 */
import * as z from 'zod';
import { checkSpec } from '#shared/compile/check.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { kinds } from '#shared/resources/registry.ts';
import type { NewObject } from '#shared/kube/client.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { samplesOf } from '../../samples/all.ts';

export type Spec = Record<string, unknown>;

/** One that refers to others says more about admission. */
const weight = (kind: KindDefinition, spec: Spec): number => {
  const checked = checkSpec(kind, spec);
  if (!('spec' in checked)) return -1;
  return (
    (kind.references?.(checked.spec).length ?? 0) * 10 + (kind.networks?.(checked.spec).length ?? 0)
  );
};

/** The one that says most. @throws Error for a kind without samples */
export const sampleOf = (kind: KindDefinition): Spec => {
  const { ofIcn, rendered } = samplesOf(kind.kind);
  const specs = [...ofIcn, ...rendered].map(({ spec }) => ({ ...spec }));
  const [best] = specs.sort((a, b) => weight(kind, b) - weight(kind, a));
  if (!best) throw new Error(`${kind.kind} has no samples`);
  return structuredClone(best);
};

let made = 1;

/**
 * A rule of a kind of which only one rule of a CNF can have the same, such as an address or a
 * connection: with what no other made by this has.
 */
export const withOwnClaims = (kind: KindDefinition, spec: Spec): Spec => {
  if (kind.claims === undefined) return spec;
  made += 1;
  const { connections } = spec;
  if (!Array.isArray(connections))
    return { ...spec, virtualRouterId: made, addresses: [`192.168.${made}.1/24`] };
  return {
    ...spec,
    connections: connections.map((each) => ({ ...each, name: `${each.name}_${made}` })),
  };
};

/**
 * The same with a control character in its first text that the kind's schema then refuses, and the
 * name of that field.
 */
export const brokenSampleOf = (kind: KindDefinition): { spec: Spec; field: string } => {
  const valid = sampleOf(kind);
  for (const [field, value] of Object.entries(valid)) {
    if (typeof value !== 'string' || value === '') continue;
    const spec = { ...valid, [field]: `${value}\u0007` };
    if (!('spec' in checkSpec(kind, spec))) return { spec, field };
  }
  for (const field of Object.keys(valid)) {
    const spec = { ...valid, [field]: ['\u0007'] };
    if (!('spec' in checkSpec(kind, spec))) return { spec, field };
  }
  throw new Error(`${kind.kind}: nothing in its sample can be broken`);
};

export const referencesIn = (
  kind: KindDefinition,
  spec: Spec,
): { kind: string; name: string }[] => {
  const checked = checkSpec(kind, spec);
  return 'spec' in checked ? [...(kind.references?.(checked.spec) ?? [])] : [];
};

export const networksIn = (kind: KindDefinition, spec: Spec): string[] => {
  const checked = checkSpec(kind, spec);
  return 'spec' in checked
    ? (kind.networks?.(checked.spec) ?? []).map(({ network }) => network)
    : [];
};

/** Every network that any sample names. */
export const allNetworks = (): string[] => [
  ...new Set(kinds.flatMap((kind) => networksIn(kind, sampleOf(kind)))),
];

/**
 * With each text that is one of these names replaced: references and networks in whatever field
 * they are.
 */
export const renameIn = (spec: Spec, names: Readonly<Record<string, string>>): Spec => {
  const replaced: unknown = JSON.parse(JSON.stringify(spec), (_key, value: unknown) =>
    typeof value === 'string' ? (names[value] ?? value) : value,
  );
  return z.record(z.string(), z.unknown()).parse(replaced);
};

/** A CR of that kind for purpose cnf-1. */
export const crOf = (
  kind: KindDefinition,
  metadata: Partial<RuleObject['metadata']> & { name: string; namespace: string },
  spec: Spec,
): NewObject => ({
  apiVersion: `${kind.group}/${kind.version}`,
  kind: kind.kind,
  metadata: { labels: { sdewanPurpose: 'cnf-1' }, ...metadata },
  spec,
});
