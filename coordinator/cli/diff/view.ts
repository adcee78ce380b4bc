/** `sdewan diff -f` as value and text: the UCI of each rule of the CNFs, before and after. Pure. */
import * as z from 'zod';
import type { RuleObject } from '#shared/kube/objects.ts';
import { namesAsInterfaces, networksOf } from '../../views/networks.ts';
import { API_VERSION, headOf } from '../../views/output/format.ts';
import { printable } from '../../views/output/table.ts';
import { compileOffline } from '#shared/compile/offline.ts';
import type { PodNetworks } from '#shared/compile/types.ts';
import { changedLines, lineSchema } from './lines.ts';
import { purposeOf, type ClusterFacts } from '../../views/cluster-facts.ts';
import { packagesOf, packagesText } from '../../views/rendered.ts';

const changeSchema = z.object({
  namespace: z.string(),
  cnf: z.string(),
  kind: z.string(),
  name: z.string(),
  change: z.enum(['New', 'Changed', 'Gone']).describe('Gone: it would belong to another CNF.'),
  lines: z.array(lineSchema).describe('Its UCI; why it is not in force where it has none.'),
});

export const diffViewSchema = z.object({
  ...headOf('Diff'),
  different: z.boolean(),
  changes: z.array(changeSchema).describe('Rules in the files, and others that change with them.'),
});
type DiffView = z.infer<typeof diffViewSchema>;

type Cnf = { namespace: string; purpose: string };

/** `wanted`: as files have them. */
export const diffViewOf = (facts: ClusterFacts, wanted: readonly RuleObject[]): DiffView => {
  const before = new Map(facts.rules.map((rule) => [keyOf(rule), rule]));
  const after = new Map(before);
  for (const rule of wanted) after.set(keyOf(rule), written(rule, before.get(keyOf(rule))));
  const concerned = wanted.flatMap((rule) => [rule, before.get(keyOf(rule)) ?? rule].map(cnfOf));
  const cnfs = new Map(concerned.map((cnf) => [JSON.stringify(cnf), cnf]));
  const changes = [...cnfs.values()].flatMap((cnf) => {
    const [then, now] = [before, after].map((rules) =>
      [...rules.values()].filter((rule) => isOf(rule, cnf)),
    );
    return changesOf(cnf, then ?? [], now ?? [], facts);
  });
  return { apiVersion: API_VERSION, kind: 'Diff', different: changes.length > 0, changes };
};

const cnfOf = (rule: RuleObject): Cnf => ({
  namespace: rule.metadata.namespace,
  purpose: purposeOf(rule),
});

const isOf = (rule: RuleObject, { namespace, purpose }: Cnf): boolean =>
  rule.metadata.namespace === namespace && purposeOf(rule) === purpose;

const keyOf = ({ kind, metadata: { namespace, name } }: RuleObject): string =>
  JSON.stringify([namespace, kind, name]);

/** As it would be stored. */
const written = (rule: RuleObject, stored: RuleObject | undefined): RuleObject => {
  const { generation = 0, ...kept } = stored?.metadata ?? {};
  return {
    ...rule,
    metadata: {
      ...rule.metadata,
      uid: `new ${keyOf(rule)}`,
      creationTimestamp: new Date().toISOString(),
      ...kept,
      ...pickGiven(rule.metadata),
      generation: generation + 1,
    },
  };
};

/** What a rule in a file gives. */
const pickGiven = ({ labels, annotations }: RuleObject['metadata']) => ({
  ...(labels && { labels }),
  ...(annotations && { annotations }),
});

const changesOf = (
  { namespace, purpose }: Cnf,
  before: readonly RuleObject[],
  after: readonly RuleObject[],
  facts: ClusterFacts,
): DiffView['changes'] => {
  const networks =
    networksOf(facts, { namespace, purpose }) ?? namesAsInterfaces([...before, ...after]);
  const then = textsOf(before, networks);
  const now = textsOf(after, networks);
  return [...new Set([...then.keys(), ...now.keys()])].flatMap((key) => {
    const change = changeOf(then.get(key), now.get(key));
    return change ? [{ namespace, cnf: purpose, ...change }] : [];
  });
};

type Change = Pick<DiffView['changes'][number], 'kind' | 'name' | 'change' | 'lines'>;

const changeOf = (before: Text | undefined, after: Text | undefined): Change | undefined => {
  const lines = changedLines(before?.lines ?? [], after?.lines ?? []);
  const rule = after ?? before;
  if (!rule || lines.every(({ sign }) => sign === ' ')) return undefined;
  const change = !after ? 'Gone' : before ? 'Changed' : 'New';
  return { kind: rule.kind, name: rule.name, change, lines };
};

type Text = { kind: string; name: string; lines: readonly string[] };

/** By rule. */
const textsOf = (
  rules: readonly RuleObject[],
  networks: PodNetworks,
): ReadonlyMap<string, Text> => {
  const { desired, verdicts } = compileOffline(rules, networks);
  return new Map(
    verdicts.map(({ rule, verdict, message, sections }) => {
      const packages = packagesOf(sections, desired);
      const why = verdict === 'wanted' ? [] : [`# not in force: ${message}`];
      const lines = packagesText(packages)
        .split('\n')
        .filter((line) => line.trim() !== '');
      return [
        keyOf(rule),
        { kind: rule.kind, name: rule.metadata.name, lines: [...why, ...lines] },
      ];
    }),
  );
};

const WORDS: Readonly<Record<DiffView['changes'][number]['change'], string>> = {
  New: 'new',
  Changed: 'changed',
  Gone: 'no longer of this CNF',
};

export const diffText = ({ changes }: DiffView): string => changes.map(changeText).join('\n');

const changeText = ({ kind, name, cnf, change, lines }: DiffView['changes'][number]): string =>
  [
    `${kind}/${name} of ${cnf === '' ? 'no CNF' : cnf}: ${WORDS[change]}`,
    ...lines.map(
      ({ sign, text }) => `${sign} ${text.startsWith('\t') ? '  ' : ''}${printable(text)}`,
    ),
    '',
  ].join('\n');
