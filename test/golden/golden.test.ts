/**
 * CR YAML in, UCI text out: `cases/<case>.yaml` becomes `cases/<case>.uci`, the packages one after the other as `uci export`
 * writes them. `UPDATE=1` rewrites the texts. They are read by a reader that is not ours and held against the table of
 * fields, so that an update cannot make a wrong text right.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkSpec } from '#shared/compile/check.ts';
import { compile } from '#shared/compile/compile.ts';
import { inputOf } from '#shared/compile/testing.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { kinds } from '#shared/kinds/registry.ts';
import { formatPackage } from '#shared/uci/format.ts';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { planChildren } from '../../coordinator/generate/children/plan.ts';
import { readUci } from '../judge/uci.ts';
import { expectedOptions, type Spec } from './fields.ts';

const folder = join(import.meta.dirname, 'cases');
const cases = readdirSync(folder)
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => name.replace(/\.yaml$/, ''));

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

const rulesOf = (name: string): (RuleObject & { spec: Spec })[] =>
  parseAllDocuments(readFileSync(join(folder, `${name}.yaml`), 'utf8')).map((document, index) => {
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
const childrenOf = (rules: readonly RuleObject[]): RuleObject[] =>
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

/** Cases for another dialect of IPsec say so in their name. */
const inputFor = (name: string) => {
  const rules = rulesOf(name);
  return inputOf(
    [...rules, ...childrenOf(rules)],
    name.includes('swanctl') ? { ipsecDialect: 'swanctl' } : {},
  );
};

const exported = (name: string): string =>
  [...compile(inputFor(name)).desired]
    .filter(([, sections]) => sections.length > 0)
    .map(
      ([packageName, sections]) =>
        `package ${packageName}\n${formatPackage({ name: packageName, sections })}`,
    )
    .join('\n');

describe.each(cases)('golden: %s', (name) => {
  const rules = rulesOf(name);
  const file = join(folder, `${name}.uci`);

  it('is accepted', () => {
    const problems = compile(inputFor(name)).verdicts.filter(({ verdict }) => verdict !== 'wanted');
    expect(problems.map(({ rule, message }) => `${rule.metadata.name}: ${message}`)).toEqual([]);
  });

  it('comes to the UCI text as kept', () => {
    const text = exported(name);
    if (process.env.UPDATE === '1') writeFileSync(file, text);
    expect(text).toBe(readFileSync(file, 'utf8'));
  });

  it('has each field of the spec where the table of fields says', () => {
    const sections = readUci(readFileSync(file, 'utf8'));
    for (const { kind, metadata, spec } of rules) {
      for (const { section, type, options } of expectedOptions(kind, metadata.name, spec)) {
        const found = sections.find((candidate) => candidate.name === section);
        expect(found, `section ${section}`).toMatchObject({ type, options });
      }
    }
  });
});

it('covers every kind that goes to OpenWRT, itself or by CRs that are made of it', () => {
  const covered = new Set(cases.flatMap(rulesOf).map(({ kind }) => kind));
  expect(kinds.filter(({ kind, uci, generates }) => (uci ?? generates) && !covered.has(kind)).map(({ kind }) => kind)).toEqual([]);
});

it('covers every field of every kind that goes to OpenWRT', () => {
  const covered = new Set(
    cases.flatMap(rulesOf).flatMap(({ kind, spec }) => Object.keys(spec).map((field) => `${kind}.${field}`)),
  );
  const fields = kinds
    .filter(({ uci, generates }) => uci ?? generates)
    .flatMap(({ kind, spec }) =>
      spec instanceof z.ZodObject ? Object.keys(spec.shape).map((field) => `${kind}.${field}`) : [],
    );
  expect(fields.filter((field) => !covered.has(field))).toEqual([]);
});
