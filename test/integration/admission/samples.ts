/** A valid CR of every kind, taken from the golden cases, and variations of it: whatever kind comes next is tested alike. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { checkSpec } from '#shared/compile/check.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { kinds } from '#shared/resources/registry.ts';
import type { NewObject } from '#shared/kube/client.ts';
import type { RuleObject } from '#shared/kube/objects.ts';

const CASES = join(import.meta.dirname, '../../golden/cases');

const crSchema = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.record(z.string(), z.unknown()).default({}),
});
export type Spec = Record<string, unknown>;

const readSamples = (): ReadonlyMap<string, Spec> => {
  const samples = new Map<string, Spec>();
  for (const file of readdirSync(CASES).filter((name) => name.endsWith('.yaml')))
    for (const document of parseAllDocuments(readFileSync(join(CASES, file), 'utf8'))) {
      const cr = crSchema.safeParse(document.toJS());
      const kind = cr.success ? kinds.find((known) => known.kind === cr.data.kind) : undefined;
      if (!cr.success || !kind || !('spec' in checkSpec(kind, cr.data.spec))) continue;
      const better = weight(kind, cr.data.spec) > weight(kind, samples.get(kind.kind));
      if (better) samples.set(kind.kind, cr.data.spec);
    }
  return samples;
};

/** One that refers to others says more about admission. */
const weight = (kind: KindDefinition, spec: Spec | undefined): number => {
  if (spec === undefined) return -1;
  const checked = checkSpec(kind, spec);
  if (!('spec' in checked)) return -1;
  return (
    (kind.references?.(checked.spec).length ?? 0) * 10 + (kind.networks?.(checked.spec).length ?? 0)
  );
};

const samples = readSamples();

/** @throws Error for a kind without a golden case */
export const sampleOf = (kind: KindDefinition): Spec => {
  const spec = samples.get(kind.kind);
  if (!spec) throw new Error(`no golden case has a valid ${kind.kind}`);
  return structuredClone(spec);
};

/** The same with a control character in its first text that the kind's schema then refuses, and the name of that field. */
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
  throw new Error(`${kind.kind}: nothing in the golden case can be broken`);
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

/** With each text that is one of these names replaced: references and networks in whatever field they are. */
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
