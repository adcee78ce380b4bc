import * as z from 'zod';
import { inspectAgent } from '../agents/ask.ts';
import { agentPodsOf, rulesOf } from '../agents/find.ts';
import { withCluster, type Cluster } from '../cluster/connect.ts';
import { gather } from '../cluster/facts.ts';
import { rightsOf } from '../../views/rights.ts';
import { namespaceOf } from '../cluster/scope.ts';
import { isCnfDeployment, rulesInFiles } from '../apply/files.ts';
import { refusalsOf, warn } from '../apply/refusals.ts';
import {
  CannotTellError,
  EXIT,
  type CommandIo,
  type ExitCode,
  type Given,
  type Run,
} from '../command.ts';
import { formatSchema, print, type Format } from '../../views/output/format.ts';
import { sayUnseen } from '../status/answer.ts';
import {
  askedPod,
  podDiffText,
  podDiffViewOf,
  unaskedPod,
  type PodDiff,
  type PodDiffView,
} from './device.ts';
import { diffText, diffViewOf } from './view.ts';
import type { AgentPod, ClusterFacts } from '../../views/cluster-facts.ts';
import { UsageError } from '../../views/usage-error.ts';

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
  const place = namespaceOf(options, usual) ?? usual;
  const wanted = await rulesInFiles(files, io, place);
  // Nothing has been compared: that is neither equal nor different.
  if ('code' in wanted) return EXIT.usage;
  const [first = place, ...more] = new Set(wanted.rules.map(({ metadata }) => metadata.namespace));
  const namespace = more.length === 0 ? first : undefined;
  const { refused, lacking } = await refusalsOf(wanted.rules, { client, signal });
  for (const line of [...refused, ...rightsOf(lacking)]) io.say(line);
  if (refused.length > 0) return EXIT.usage;
  for (const one of wanted.rules) await warn(one, { client, io, signal });
  const facts = await gather(client, { namespace, withPods: true }, signal);
  const rules = wanted.rules.filter((one) => !isCnfDeployment(one));
  const view = diffViewOf(facts, rules);
  print(io, format, { data: view, table: () => diffText(view) });
  sayUnseen(facts, io);
  if (view.different) return EXIT.no;
  return facts.lacking.some(({ resource }) => resource !== 'pods') ? EXIT.unknown : EXIT.done;
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
