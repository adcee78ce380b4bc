/** The CRs of `cases/*.yaml`, and what they are compiled with. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkSpec } from '#shared/compile/check.ts';
import { inputOf } from '#shared/compile/testing.ts';
import type { CompileInput } from '#shared/compile/types.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { ASSUMED } from '#shared/resources/capabilities.ts';
import { kinds } from '#shared/resources/registry.ts';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { planChildren } from '../../coordinator/children/plan.ts';
import type { Spec } from './fields.ts';

export const CASES = join(import.meta.dirname, 'cases');
export const cases = readdirSync(CASES)
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => name.replace(/\.yaml$/, ''));

export type GoldenRule = RuleObject & { spec: Spec };

const documentSchema = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.object({
    name: z.string(),
    labels: z.record(z.string(), z.string()),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
  spec: z.record(z.string(), z.unknown()),
});

/** Those of the file, older first. */
export const rulesOf = (name: string): GoldenRule[] =>
  parseAllDocuments(readFileSync(join(CASES, `${name}.yaml`), 'utf8')).map((document, index) => {
    const { metadata, ...rest } = documentSchema.parse(document.toJS());
    const { annotations, ...named } = metadata;
    const uid = `uid-${index}`;
    const creationTimestamp = `2026-01-01T00:00:${String(index).padStart(2, '0')}Z`;
    return {
      ...rest,
      metadata: {
        ...named,
        ...(annotations && { annotations }),
        uid,
        creationTimestamp,
        generation: 1,
        namespace: 'default',
        resourceVersion: '1',
      },
    };
  });

/** What the DNS says. */
const ADDRESSES: Readonly<Record<string, readonly string[]>> = {
  'web.example.com': ['192.0.2.10', '192.0.2.11', '2001:db8::10'],
  'mail.local.example.com': ['10.9.9.9'],
  'mail.example.com': ['192.0.2.20', '192.0.2.21', '2001:db8::20'],
  'site.example.com': ['10.30.0.1', '2001:db8::30'],
};

/** The CRs that the coordinator makes of these. */
export const childrenOf = (rules: readonly RuleObject[]): GoldenRule[] =>
  rules.flatMap((rule) => {
    const kind = kinds.find((known) => known.kind === rule.kind);
    const checked = kind?.generates && checkSpec(kind, rule.spec);
    if (!kind?.generates || !checked || 'problem' in checked) return [];
    const children = kind.generates.children(checked.spec, (host) => ADDRESSES[host] ?? []);
    if ('message' in children) throw new Error(children.message);
    return planChildren(rule.metadata.name, children, []).create.map((child) => ({
      apiVersion: rule.apiVersion,
      kind: child.kind,
      metadata: { ...rule.metadata, name: child.name, uid: `${rule.metadata.uid}-${child.name}` },
      spec: child.spec,
    }));
  });

const SWANCTL = { dialect: 'swanctl', settings: 'last' } as const;

/** Cases for another dialect of IPsec say so in their name. */
export const isSwanctl = (name: string): boolean => name.includes('swanctl');

export const inputFor = (name: string, overrides: Partial<CompileInput> = {}): CompileInput => {
  const rules = rulesOf(name);
  return inputOf([...rules, ...childrenOf(rules)], {
    ...(isSwanctl(name) && { capabilities: { ...ASSUMED, ipsec: SWANCTL } }),
    ...overrides,
  });
};
