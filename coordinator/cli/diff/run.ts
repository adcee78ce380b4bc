import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { inspectAgent } from '../agents/ask.ts';
import { agentPodsOf, rulesOf, type AgentPod } from '../agents/find.ts';
import { withCluster, type Cluster } from '../cluster/connect.ts';
import { gather, type ClusterFacts } from '../cluster/facts.ts';
import { rightsOf } from '../cluster/rights.ts';
import { namespaceOf } from '../cluster/scope.ts';
import { rulesFrom } from '../apply/files.ts';
import {
  CannotTellError,
  EXIT,
  UsageError,
  type CommandIo,
  type ExitCode,
  type Given,
  type Run,
} from '../command.ts';
import { readManifests } from '../manifest/read.ts';
import { formatSchema, print, type Format } from '../output/format.ts';
import { policiesIn, splitPolicies } from '../policies/files.ts';
import { policiesNow } from '../policies/world.ts';
import { unseen } from '../status/answer.ts';
import {
  askedPod,
  podDiffText,
  podDiffViewOf,
  unaskedPod,
  type PodDiff,
  type PodDiffView,
} from './device.ts';
import { policiesDiffOf } from './policies.ts';
import { diffText, diffViewOf, rulesDiffOf } from './view.ts';

const optionsSchema = formatSchema.extend({ filename: z.array(z.string()).optional() });

export const runDiff: Run = ({ args: [name], options }, io, signal) => {
  const { filename, output } = optionsSchema.parse(options);
  if ((name === undefined) === (filename === undefined))
    throw new UsageError('specify a CNF or a pod, or files: -f FILE, or -f - for standard input');
  return withCluster({ options, io }, (cluster) => {
    const asked = { cluster, options, io, signal, format: output };
    return name === undefined ? diffFiles(filename ?? [], asked) : diffPods(name, asked);
  });
};

type Asked = {
  cluster: Cluster;
  options: Given['options'];
  io: CommandIo;
  signal: AbortSignal;
  format: Format;
};

const diffFiles = async (
  files: readonly string[],
  { cluster: { client, namespace: usual }, options, io, signal, format }: Asked,
): Promise<ExitCode> => {
  const read = await readManifests(files, io);
  // Nothing has been compared: that is neither equal nor different.
  if ('code' in read) return EXIT.usage;
  const place = namespaceOf(options, usual) ?? usual;
  const sources = splitPolicies(read.sources);
  const wanted = rulesFrom(sources.others, io, place);
  const policies = policiesIn(sources.policies, io, place);
  if ('code' in wanted || 'code' in policies) return EXIT.usage;
  const facts = await factsAbout(wanted.rules, client, signal);
  const now = policies.policies.length > 0 ? await policiesNow(client, signal) : undefined;
  const view = diffViewOf(
    facts ? rulesDiffOf(facts, wanted.rules) : [],
    now && policiesDiffOf(now, policies.policies),
  );
  print(io, format, { data: view, table: () => diffText(view) });
  if (facts) sayUnseen(facts, io);
  if (view.different) return EXIT.no;
  return facts?.lacking.some(({ resource }) => resource !== 'pods') ? EXIT.unknown : EXIT.done;
};

/** Undefined: there are no rules, so that nothing is asked about any. */
const factsAbout = async (
  rules: readonly RuleObject[],
  client: KubeClient,
  signal: AbortSignal,
): Promise<ClusterFacts | undefined> => {
  if (rules.length === 0) return undefined;
  const places = new Set(rules.map(({ metadata }) => metadata.namespace));
  const [only] = places;
  return gather(
    client,
    { namespace: places.size === 1 ? only : undefined, withPods: true },
    signal,
  );
};

const diffPods = async (
  name: string,
  { cluster, options, io, signal, format }: Asked,
): Promise<ExitCode> => {
  const namespace = namespaceOf(options, cluster.namespace);
  const facts = await gather(cluster.client, { namespace, withPods: true }, signal);
  const pods = await Promise.all(
    agentPodsOf(facts, name, namespace).map((pod) => diffOf(pod, { cluster, facts, signal })),
  );
  const view = podDiffViewOf(pods);
  print(io, format, { data: view, table: () => podDiffText(view) });
  sayUnseen(facts, io);
  return CODES[view.state];
};

const CODES: Readonly<Record<PodDiffView['state'], ExitCode>> = {
  Equal: EXIT.done,
  Different: EXIT.no,
  Unknown: EXIT.unknown,
};

const diffOf = async (
  pod: AgentPod,
  { cluster, facts, signal }: Pick<Asked, 'cluster' | 'signal'> & { facts: ClusterFacts },
): Promise<PodDiff> => {
  try {
    return askedPod(pod, await inspectAgent(cluster, pod, signal));
  } catch (error) {
    if (!(error instanceof CannotTellError)) throw error;
    return unaskedPod(pod, error.message, rulesOf(facts, pod));
  }
};

const sayUnseen = ({ lacking, absent }: ClusterFacts, io: CommandIo): void => {
  for (const line of unseen({ notSeen: rightsOf(lacking), absentKinds: [...absent] })) io.say(line);
};
