/**
 * The golden cases: the samples of each kind, with what they refer to, and combinations in which
 * several kinds meet. What each is compiled with, and where the texts that it comes to are kept.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { checkSpec, referencesOf } from '#shared/compile/check.ts';
import { inputOf } from '#shared/compile/testing.ts';
import type { CompileInput } from '#shared/compile/types.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { apiVersionOf } from '#shared/kube/path.ts';
import { ASSUMED } from '#shared/resources/capabilities.ts';
import { kindOf } from '#shared/resources/registry.ts';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { planChildren } from '../../coordinator/controllers/generated-rules/children/plan.ts';
import { allSamples, sampleFileOf } from '../samples/all.ts';
import type { Sample, Samples, Texts } from '../samples/samples.ts';
import type { Spec } from '../samples/uci-table.ts';

export type GoldenRule = RuleObject & { spec: Spec };

export type Case = {
  name: string;
  /** Older first. */
  rules: readonly GoldenRule[];
  isSwanctl: boolean;
  /** Its texts are as `test/golden/brief.ts` has them. */
  isBrief: boolean;
  /** Where samples hold arguments of iptables. */
  isFw3?: boolean;
  /** Empty where none is kept. With `UPDATE=1` `now` is what is kept from now on. */
  kept: (what: keyof Texts, now?: string) => string;
};

type Named = Sample & { kind: string };

const ruleOf = ({ kind, name, annotations, spec }: Named, index: number): GoldenRule => {
  const definition = kindOf(kind);
  if (!definition) throw new Error(`no kind ${kind}`);
  return {
    apiVersion: apiVersionOf(definition),
    kind,
    metadata: {
      name,
      labels: { sdewanPurpose: 'cnf-1' },
      ...(annotations && { annotations }),
      uid: `uid-${index}`,
      creationTimestamp: `2026-01-01T00:${String(index).padStart(2, '0')}:00Z`,
      generation: 1,
      namespace: 'default',
      resourceVersion: '1',
    },
    spec,
  };
};

const namedIn = ({ kind, ofIcn, rendered }: Samples): Named[] =>
  [...ofIcn, ...rendered].map((sample) => ({ ...sample, kind }));
const everything = allSamples.flatMap(namedIn);

/** With what they refer to in front of them; what no sample is, the administrator has. */
const withReferred = (given: readonly Named[]): Named[] => {
  const referred = given.map(ruleOf).flatMap((rule) => referencesOf(rule));
  const missing = everything.filter(
    (one) =>
      !given.includes(one) &&
      referred.some(({ kind, name }) => kind === one.kind && name === one.name),
  );
  return missing.length === 0 ? [...given] : withReferred([...new Set([...missing, ...given])]);
};

type Keeper = { read: (what: keyof Texts) => string; write: (what: keyof Texts, text: string) => void };

const keptBy =
  ({ read, write }: Keeper): Case['kept'] =>
  (what, now) => {
    if (now === undefined || process.env['UPDATE'] !== '1') return read(what);
    write(what, now);
    return now;
  };

/** In the sample file, which holds them as `uci: String.raw...`. */
const inSamples = ({ kind, texts }: Samples): Case['kept'] =>
  keptBy({
    read: (what) => texts[what] ?? '',
    write: (what, text) => {
      const file = sampleFileOf(kind);
      const before = readFileSync(file, 'utf8').replace(
        new RegExp(`\\n {4}${what}: String\\.raw\`[^\`]*\`,`),
        '',
      );
      const line = text === '' ? '' : `\n    ${what}: String.raw\`${text}\`,`;
      writeFileSync(file, before.replace(/\n {2}texts: \{/, (head) => `${head}${line}`));
    },
  });

const SCENES = join(import.meta.dirname, 'combinations');

/** In files of the scene's name. */
const inScene = (name: string): Case['kept'] => {
  const fileOf = (what: keyof Texts) => join(SCENES, `${name}.${what}`);
  return keptBy({
    read: (what) => (existsSync(fileOf(what)) ? readFileSync(fileOf(what), 'utf8') : ''),
    write: (what, text) => text !== '' && writeFileSync(fileOf(what), text),
  });
};

const documentSchema = z.object({
  kind: z.string(),
  metadata: z.object({ name: z.string() }),
  spec: z.record(z.string(), z.unknown()),
});
/** The rules of the seed that this product was made from. */
const seed = parseAllDocuments(readFileSync(join(SCENES, 'seed.yaml'), 'utf8')).map((document) => {
  const { kind, metadata, spec } = documentSchema.parse(document.toJS());
  return { kind, name: metadata.name, spec };
});

const sceneOf = (name: string, rules: readonly Named[]): Case => ({
  name,
  rules: rules.map(ruleOf),
  isSwanctl: false,
  isBrief: false,
  kept: inScene(name),
});

/** What swanctl does not have, so that a rule that asks for it is not written there. */
const withoutClassic = ({ spec, ...rule }: GoldenRule): GoldenRule => {
  const { connections } = spec;
  if (!Array.isArray(connections)) return { ...rule, spec };
  const kept = connections.map(
    ({ mark: _mark, remote_sourceip: _pool, local_firewall: _firewall, ...connection }) =>
      connection,
  );
  return { ...rule, spec: { ...spec, connections: kept } };
};

const IPTABLES_FIELDS = ['extra', 'extra_src', 'extra_dest', 'etra_dest'];

const casesOfKind = (samples: Samples): Case[] => {
  const rules = withReferred(namedIn(samples)).map(ruleOf);
  const isFw3 = rules.some(({ spec }) => IPTABLES_FIELDS.some((field) => field in spec));
  const common = { isBrief: true, isFw3, kept: inSamples(samples) };
  const plain = { name: samples.kind, rules, isSwanctl: false, ...common };
  return kindOf(samples.kind)?.uci?.package === 'ipsec'
    ? [
        plain,
        {
          ...plain,
          name: `${samples.kind} with swanctl`,
          rules: rules.map(withoutClassic),
          isSwanctl: true,
        },
      ]
    : [plain];
};

export const cases: readonly Case[] = [
  ...allSamples.flatMap(casesOfKind),
  sceneOf('seed', seed),
  sceneOf(
    'icn-platform',
    allSamples.flatMap(({ kind, ofIcn }) => ofIcn.map((sample) => ({ ...sample, kind }))),
  ),
];

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
    const kind = kindOf(rule.kind);
    const checked = kind?.generates && checkSpec(kind, rule.spec);
    if (!kind?.generates || !checked || 'problem' in checked) return [];
    const children = kind.generates.children(checked.spec, (host) =>
      isIP(host) === 0 ? (ADDRESSES[host] ?? []) : [host],
    );
    if ('message' in children) throw new Error(children.message);
    return planChildren(rule.metadata.name, children, []).keep.map(({ wanted: child }) => ({
      apiVersion: rule.apiVersion,
      kind: child.kind,
      metadata: { ...rule.metadata, name: child.name, uid: `${rule.metadata.uid}-${child.name}` },
      spec: child.spec,
    }));
  });

const SWANCTL = { dialect: 'swanctl', settings: 'last' } as const;

export const inputFor = (
  { rules, isSwanctl, isFw3 }: Case,
  overrides: Partial<CompileInput> = {},
): CompileInput =>
  inputOf([...rules, ...childrenOf(rules)], {
    ...(isFw3 && { capabilities: { ...ASSUMED, firewall: 'fw3' } }),
    ...(isSwanctl && { capabilities: { ...ASSUMED, ipsec: SWANCTL } }),
    ...overrides,
  });
