/** CRs in files to UCI, and what is wrong with them where. Pure. */
import { isIP } from 'node:net';
import * as z from 'zod';
import { checkSpec } from '#shared/compile/check.ts';
import { networksIn } from '#shared/compile/networks.ts';
import type { NetworkTable, PodNetworks, Verdict } from '#shared/compile/types.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { apiVersionOf } from '#shared/kube/path.ts';
import { NETWORKS_ANNOTATION, NFN_NETWORK_ANNOTATION, PURPOSE_LABEL } from '#shared/names.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { kinds, kindOf } from '#shared/resources/registry.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { planChildren } from '../../controllers/generated-rules/children/plan.ts';
import { templateFactsOf } from '../../sources/workload.ts';
import { pathOf, type Located } from '../manifest/positions.ts';
import type { ManifestSource } from '../manifest/read.ts';
import { valueAt, workloadPlaces } from '../manifest/workloads.ts';
import { nearestNames } from '../nearest.ts';
import { API_VERSION, headOf } from '../../views/output/format.ts';
import { compileOffline } from '#shared/compile/offline.ts';
import {
  packagesText,
  packageSchema,
  renderedSection,
  type CnfRules,
  type RenderedPackage,
} from '../../views/rendered.ts';

const remarkSchema = z.object({
  file: z.string(),
  line: z.int().describe('From 1.'),
  column: z.int().describe('From 1.'),
  field: z.string(),
  message: z.string().describe('What would be right.'),
});
export type Remark = z.infer<typeof remarkSchema>;

export const renderingSchema = z.object({
  ...headOf('Rendering'),
  cnfs: z.array(
    z.object({
      namespace: z.string().describe('Empty where the rules name none.'),
      cnf: z.string(),
      packages: z.array(packageSchema),
    }),
  ),
  problems: z.array(remarkSchema).describe('Why rules are not in the packages.'),
  notes: z.array(remarkSchema).describe('What only the CNF or the cluster can tell.'),
});
export type Rendering = z.infer<typeof renderingSchema>;

type Placed = { source: Located & { file: string }; rule: RuleObject; kind: KindDefinition };

/** `networks`: of all CNFs; undefined: as the CNFs in the input say. */
export const render = (
  sources: readonly ManifestSource[],
  networks: NetworkTable | undefined,
): Rendering => {
  const remarks: Remarks = { problems: [], notes: [] };
  const cnfs = groupsIn(sources, networks, remarks).map(({ namespace, cnf, placed, table }) => ({
    namespace,
    cnf,
    packages: compiled(placed, table, remarks),
  }));
  return { apiVersion: API_VERSION, kind: 'Rendering', cnfs, ...remarks };
};

/**
 * What is in the files of each CNF, with the rules that the coordinator would make of others;
 * `render` says what is wrong with them.
 */
export const rulesIn = (
  sources: readonly ManifestSource[],
  networks: NetworkTable | undefined,
): readonly CnfRules[] => {
  const remarks: Remarks = { problems: [], notes: [] };
  return groupsIn(sources, networks, remarks).map(({ namespace, cnf, placed, table }) => ({
    namespace,
    cnf,
    rules: placed.flatMap((one) => [one.rule, ...childrenOf(one, remarks)]),
    networks: table?.networks,
  }));
};

type Group = {
  namespace: string;
  cnf: string;
  placed: readonly Placed[];
  table: PodNetworks | undefined;
};

const groupsIn = (
  sources: readonly ManifestSource[],
  networks: NetworkTable | undefined,
  { problems }: Remarks,
): Group[] => {
  const all = sources.flatMap(({ file, objects }) => objects.map((one) => ({ ...one, file })));
  const tables = networksOfCnfs(all, problems);
  const rules = all.flatMap((source) => ruleIn(source, problems) ?? []);
  const groups = Map.groupBy(unique(rules, problems), ({ rule: { metadata } }) =>
    JSON.stringify([metadata.namespace, metadata.labels?.[PURPOSE_LABEL]]),
  );
  return [...groups.values()].flatMap((placed) => {
    const [first] = placed;
    const cnf = first?.rule.metadata.labels?.[PURPOSE_LABEL];
    if (!first || cnf === undefined) return [];
    const { namespace } = first.rule.metadata;
    return [{ namespace, cnf, placed, table: networks ? { networks } : tables.get(cnf) }];
  });
};

/** As `uci export` writes it, CNFs one after the other. */
export const renderingText = ({ cnfs }: Rendering): string =>
  cnfs
    .map(({ namespace, cnf, packages }) => {
      const head = cnfs.length === 1 ? '' : `# ${namespace === '' ? '' : `${namespace}/`}${cnf}\n`;
      return head + packagesText(packages);
    })
    .join('\n');

const remark = (source: Located & { file: string }, field: string, message: string): Remark => ({
  file: source.file,
  ...source.at(pathOf(field)),
  field,
  message,
});

const metadataSchema = z.looseObject({
  name: z.string(),
  namespace: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
});
const ruleSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: metadataSchema,
  spec: z.unknown(),
});

const isOurs = (value: unknown): boolean => {
  const { data } = z.looseObject({ apiVersion: z.string(), kind: z.string() }).safeParse(value);
  return kinds.some(
    ({ group, kind }) => data?.kind === kind || data?.apiVersion.startsWith(`${group}/`) === true,
  );
};

/** All applied at once: of rules of one second, kind and name decide which comes first. */
const CREATED = '2026-01-01T00:00:00Z';

const ruleIn = (source: Located & { file: string }, problems: Remark[]): Placed | undefined => {
  if (!isOurs(source.value)) return undefined;
  const { data, error } = ruleSchema.safeParse(source.value);
  if (!data) {
    for (const issue of error.issues)
      problems.push(remark(source, issue.path.join('.'), issue.message));
    return undefined;
  }
  const kind = kindOf(data.kind);
  if (!kind) {
    const words = nearestNames(data.kind, kinds, (one) => one.kind);
    problems.push(remark(source, 'kind', `there is no ${data.kind}; the nearest are ${words}`));
    return undefined;
  }
  const wanted = apiVersionOf(kind);
  const { name, namespace = '', labels, annotations } = data.metadata;
  if (data.apiVersion !== wanted) problems.push(remark(source, 'apiVersion', `must be ${wanted}`));
  else if (!labels?.[PURPOSE_LABEL])
    problems.push(
      remark(
        source,
        'metadata.labels',
        `needs the label ${PURPOSE_LABEL}, which says of which CNF the rule is`,
      ),
    );
  else {
    const metadata = {
      name,
      namespace,
      labels,
      ...(annotations && { annotations }),
      uid: `${kind.kind}/${namespace}/${name}`,
      resourceVersion: '',
      generation: 1,
      creationTimestamp: CREATED,
    };
    return {
      source,
      kind,
      rule: { apiVersion: wanted, kind: kind.kind, metadata, spec: data.spec },
    };
  }
  return undefined;
};

/** The first of each name. */
const unique = (placed: readonly Placed[], problems: Remark[]): Placed[] => {
  const seen = new Set<string>();
  return placed.filter(({ source, rule: { kind, metadata } }) => {
    const isFirst = !seen.has(metadata.uid);
    seen.add(metadata.uid);
    if (!isFirst)
      problems.push(
        remark(source, 'metadata.name', `${kind} ${metadata.name} stands above already`),
      );
    return isFirst;
  });
};

/** By purpose, of the workloads and pods. */
const networksOfCnfs = (
  all: readonly (Located & { file: string })[],
  problems: Remark[],
): ReadonlyMap<string, PodNetworks> => {
  const tables = new Map<string, PodNetworks>();
  for (const source of all)
    for (const { path, namespace = 'default' } of workloadPlaces(source.value)) {
      const template = templateSchema.safeParse(valueAt(source.value, path)).data;
      const purpose = template?.metadata?.labels?.[PURPOSE_LABEL];
      if (!template || purpose === undefined) continue;
      try {
        tables.set(purpose, networksIn(templateFactsOf(template, namespace).networks));
      } catch (error) {
        const field = [...path, 'metadata', 'annotations'].join('.');
        const words = `${NFN_NETWORK_ANNOTATION} must be the JSON of Nodus, and ${NETWORKS_ANNOTATION} a list of Multus`;
        problems.push(remark(source, field, `${words}: ${messageOf(error)}`));
      }
    }
  return tables;
};

const templateSchema = z.looseObject({
  metadata: z.looseObject({ labels: z.record(z.string(), z.string()).optional() }).optional(),
});

type Remarks = { problems: Remark[]; notes: Remark[] };
const compiled = (
  group: readonly Placed[],
  table: PodNetworks | undefined,
  remarks: Remarks,
): RenderedPackage[] => {
  const children = group.flatMap((parent) => childrenOf(parent, remarks));
  const rules = [...group.map(({ rule }) => rule), ...children];
  const { desired, verdicts } = compileOffline(rules, table ?? { networks: new Map() });
  const byRule = new Map(group.map((one) => [one.rule, one]));
  for (const verdict of verdicts) {
    const one = byRule.get(verdict.rule);
    if (one && verdict.verdict !== 'wanted') sort(one, verdict, table, remarks);
  }
  return [...desired]
    .filter(([, sections]) => sections.length > 0)
    .map(([name, sections]) => ({ name, sections: sections.map(renderedSection) }));
};

/** Only the CNF, the cluster or the coordinator can tell. */
const OF_THE_CNF = new Set<string>([
  'WaitingForNetwork',
  'WaitingForDevice',
  'WaitingForPods',
  'WaitingForSecret',
]);
const NOT_HERE = 'which does not exist for this purpose';

const sort = (
  { source }: Placed,
  { reason, message }: Verdict,
  table: PodNetworks | undefined,
  { problems, notes }: Remarks,
): void => {
  for (const part of partsOf(message)) {
    const { field, words } = fieldAndWords(part);
    if (reason === 'UnknownNetwork' && !table)
      problems.push(
        remark(
          source,
          field,
          'the networks of the CNF are not known: specify --networks NAME=INTERFACE, or add the manifest of the CNF',
        ),
      );
    else
      (OF_THE_CNF.has(reason) ? notes : problems).push(
        remark(source, field, words.replace(NOT_HERE, 'which is not in the input')),
      );
  }
};

/** One for each field: a text behind a semicolon that begins with no field belongs to the last. */
const partsOf = (message: string): string[] =>
  message.split(/; (?=(?:spec|metadata|kind)\b[^ ]*: )/);

const FIELD = /^((?:spec|metadata|kind)\b[^ ]*): (.*)$/s;
const UNKNOWN_KEYS = /^unknown to this version: ([^,]+)/;

const fieldAndWords = (part: string): { field: string; words: string } => {
  const [, field = 'spec', words = part] = FIELD.exec(part) ?? [];
  const [, key] = UNKNOWN_KEYS.exec(words) ?? [];
  return key === undefined ? { field, words } : { field: `${field}.${key}`, words };
};

/** The rules that the coordinator would make of it, as far as it needs no DNS for that. */
const childrenOf = ({ source, rule, kind }: Placed, { problems, notes }: Remarks): RuleObject[] => {
  const checked = kind.generates && checkSpec(kind, rule.spec);
  if (!kind.generates || !checked || 'problem' in checked) return [];
  const named = kind.generates.hosts(checked.spec).filter(({ name }) => isIP(name) === 0);
  for (const { path, name } of named)
    notes.push(
      remark(
        source,
        path,
        `the rules for ${name} are made of the addresses that it has in the cluster`,
      ),
    );
  const made = kind.generates.children(checked.spec, (host) => (isIP(host) === 0 ? [] : [host]));
  if ('message' in made) {
    if (named.length === 0) problems.push(remark(source, made.path, made.message));
    return [];
  }
  return planChildren(rule.metadata.name, made, []).keep.map(
    ({ wanted: { kind: of, name, spec } }) => ({
      apiVersion: rule.apiVersion,
      kind: of,
      metadata: { ...rule.metadata, name, uid: `${rule.metadata.uid}/${of}/${name}` },
      spec,
    }),
  );
};
