/**
 * Whether all is as it should be once changes have ended: each device has exactly what the rules on
 * the API server say by the golden texts, replicas have the same in the same order, statuses say
 * so, and nothing is being deleted.
 */
import * as z from 'zod';
import type { Cluster } from 'kind-test-harness';
import { podsPath, ruleCollections } from '../../stack/collections.ts';
import { podOf, readConfigFile, type ObservedPod } from '../../stack/observe.ts';
import { readUci, type DeviceSection } from '../../openwrt/checks/uci.ts';
import type { Word } from '../vocabulary.ts';
import type { Devices } from './devices.ts';
import { expectedOf, sectionNamesOf, textOf } from './sections.ts';

export type Cnf = { purpose: string; replicas: number };

export type Expected = {
  namespace: string;
  cnfs: readonly Cnf[];
  vocabulary: readonly Word[];
  devices: Pick<Devices, 'of' | 'readAll'>;
};

const PURPOSE_LABEL = 'sdewanPurpose';
const FINALIZER = 'sdewan.akraino.org/agents';
const PACKAGES = ['firewall', 'mwan3', 'network'];

const labels = z.record(z.string(), z.string()).default({});
const ruleSchema = z.object({
  kind: z.string(),
  metadata: z.object({
    name: z.string(),
    generation: z.number(),
    deletionTimestamp: z.string().optional(),
    finalizers: z.array(z.string()).default([]),
    labels,
  }),
  spec: z.unknown(),
  status: z
    .object({
      inSync: z.boolean().optional(),
      observedGeneration: z.number().optional(),
      message: z.string().optional(),
      pods: z.object({ live: z.number() }).optional(),
    })
    .default({}),
});
type Rule = z.infer<typeof ruleSchema>;
const podSchema = z.looseObject({ metadata: z.looseObject({ labels }) });
const listOf = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item) });

type Pod = ObservedPod & { purpose: string };
const idOf = ({ kind, metadata }: Rule): string => `${kind}/${metadata.name}`;

/**
 * In words; empty: all is as it should be. @throws KubeError while the API server does not answer
 */
export const whatIsWrong = async (cluster: Cluster, expected: Expected): Promise<string[]> => {
  const { namespace, cnfs } = expected;
  const [rules, pods] = await Promise.all([
    listRules(cluster, namespace),
    listPods(cluster, namespace),
  ]);
  expected.devices.readAll();
  const configs = await Promise.all(
    pods.map(async (pod) => [pod, await readPackages(cluster, namespace, pod.name)] as const),
  );
  return [
    ...cnfs.flatMap((cnf) => wrongPods(cnf, pods)),
    ...rules.flatMap((rule) => wrongStatus(rule, expected, cnfs)),
    ...configs.flatMap(([pod, packages]) => wrongOnDevice(pod, packages, { rules, expected })),
    ...cnfs.flatMap(({ purpose }) =>
      wrongReplicas(
        configs.filter(([pod]) => pod.purpose === purpose),
        expected,
      ),
    ),
  ];
};

const listRules = async ({ api }: Cluster, namespace: string): Promise<Rule[]> => {
  const collections = await ruleCollections(api, namespace);
  const lists = await Promise.all(collections.map(({ path }) => api.find(path)));
  return lists.flatMap((found) => (found ? listOf(ruleSchema).parse(found).items : []));
};

const listPods = async ({ api }: Cluster, namespace: string): Promise<Pod[]> => {
  const found = (await api.find(podsPath(namespace))) ?? { items: [] };
  return listOf(podSchema)
    .parse(found)
    .items.map((object) => ({
      ...podOf(object),
      purpose: object.metadata.labels[PURPOSE_LABEL] ?? '',
    }));
};

type Packages = ReadonlyMap<string, readonly DeviceSection[]>;

const readPackages = async (
  cluster: Cluster,
  namespace: string,
  pod: string,
): Promise<Packages> => {
  const read = PACKAGES.map(async (name) => {
    const text = (await readConfigFile(cluster, { namespace, pod }, name)) ?? '';
    return [name, readUci(text)] as const;
  });
  return new Map(await Promise.all(read));
};

const wrongPods = ({ purpose, replicas }: Cnf, pods: readonly Pod[]): string[] => {
  const its = pods.filter((pod) => pod.purpose === purpose);
  const states = its.map(({ name, ready, terminating }) =>
    terminating ? `${name} is terminating` : ready ? '' : `${name} is not ready`,
  );
  const count = its.length === replicas ? '' : `${purpose} has ${its.length} pods of ${replicas}`;
  return [count, ...states].filter((text) => text !== '');
};

const wrongStatus = (rule: Rule, { vocabulary }: Expected, cnfs: readonly Cnf[]): string[] => {
  const { metadata, status } = rule;
  const id = idOf(rule);
  if (!vocabulary.some((word) => isOf(word, rule))) return [`${id} is not of the vocabulary`];
  if (metadata.deletionTimestamp !== undefined)
    return [`${id} is still being deleted: ${status.message}`];
  const replicas = cnfs.find(({ purpose }) => purpose === metadata.labels[PURPOSE_LABEL])?.replicas;
  const said = [status.observedGeneration, status.inSync, status.pods?.live];
  const isTrue = said.join() === [metadata.generation, true, replicas].join();
  return [
    ...(isTrue ? [] : [`${id}, generation ${metadata.generation}: ${JSON.stringify(status)}`]),
    ...(metadata.finalizers.includes(FINALIZER) ? [] : [`${id} has no finalizer`]),
  ];
};

const isOf = ({ kind, name }: Word, rule: Rule): boolean =>
  rule.kind === kind && rule.metadata.name === name;

const wrongOnDevice = (
  pod: Pod,
  packages: Packages,
  { rules, expected }: { rules: readonly Rule[]; expected: Expected },
): string[] => {
  const { vocabulary, devices } = expected;
  const its = rules.filter(({ metadata }) => metadata.labels[PURPOSE_LABEL] === pod.purpose);
  return PACKAGES.flatMap((name) => {
    const words = vocabulary.filter((word) => word.package === name);
    const wanted = words.flatMap((word) => {
      const rule = its.find((each) => isOf(word, each));
      return rule ? (expectedOf(word, rule.spec) ?? [`${idOf(rule)} of an unknown spec`]) : [];
    });
    const names = new Set(words.flatMap(sectionNamesOf));
    const found = (packages.get(name) ?? []).filter((section) => names.has(section.name ?? ''));
    const taken = devices.of(pod.uid)?.timeline.takenNow(name) ?? new Set();
    return [
      ...difference(`${pod.name} ${name}`, wanted, found.map(textOf)),
      ...wanted
        .filter((text) => !taken.has(text))
        .map((text) => `${pod.name} ${name}: its service has not taken ${firstLine(text)}`),
    ];
  });
};

const difference = (where: string, wanted: readonly string[], found: readonly string[]) => [
  ...wanted
    .filter((text) => !found.includes(text))
    .map((text) => `${where} lacks ${firstLine(text)}`),
  ...found
    .filter((text) => !wanted.includes(text))
    .map((text) => `${where} has ${firstLine(text)} that should not be`),
  ...(new Set(found).size === found.length ? [] : [`${where} has sections twice`]),
];

const firstLine = (text: string): string => text.split('\n')[0] ?? '';

/** Pods of one purpose have the same sections of ours in the same order. */
const wrongReplicas = (
  configs: readonly (readonly [Pod, Packages])[],
  { vocabulary }: Expected,
): string[] => {
  const names = new Set(vocabulary.flatMap(sectionNamesOf));
  const oursIn = (packages: Packages): string =>
    PACKAGES.map((name) =>
      (packages.get(name) ?? [])
        .filter((section) => names.has(section.name ?? ''))
        .map(textOf)
        .join('\n'),
    ).join('\n\n');
  const texts = new Set(configs.map(([, packages]) => oursIn(packages)));
  return texts.size <= 1 ? [] : [`${configs[0]?.[0].purpose}: replicas differ`];
};
