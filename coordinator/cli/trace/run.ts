import * as z from 'zod';
import type { UciSection } from '#shared/uci/model.ts';
import { parsePackage, UciSyntaxError } from '#shared/uci/parse.ts';
import { inspectAgent, kernelRules } from '../agents/ask.ts';
import { agentPodsOf } from '../agents/find.ts';
import { withCluster, type Cluster } from '../cluster/connect.ts';
import { gather } from '../cluster/facts.ts';
import { rightsOf } from '../../views/rights.ts';
import { cnfNamed, namespaceOf } from '../cluster/scope.ts';
import {
  CannotTellError,
  EXIT,
  type CommandIo,
  type ExitCode,
  type Given,
  type Run,
} from '../command.ts';
import { readManifests } from '../manifest/read.ts';
import { formatSchema, print } from '../../views/output/format.ts';
import { render, rulesIn } from '../render/render.ts';
import { networksGiven, remarkLine } from '../render/run.ts';
import { packetIn } from '../../views/packet.ts';
import { tracePolicies } from './policies-run.ts';
import {
  liveTraceText,
  liveTraceView,
  podTrace,
  unaskedTrace,
  type LivePacket,
  type PodTrace,
} from './live.ts';
import {
  aroundPod,
  deviceOf,
  inCluster,
  offline,
  tracedView,
  type Traced,
} from '../../views/traced.ts';
import { traceText, type TraceAnswer } from '../../views/trace.ts';
import type { AgentPod, ClusterFacts } from '../../views/cluster-facts.ts';
import { UsageError } from '../../views/usage-error.ts';

const optionsSchema = formatSchema.extend({
  filename: z.array(z.string()).default([]),
  networks: z.array(z.string()).optional(),
  firewall: z.string().optional(),
  live: z.boolean().default(false),
  in: z.string().optional(),
  out: z.string().optional(),
});

export const runTrace: Run = async ({ args: [name], options: given }, io, signal) => {
  if (given['from'] !== undefined || given['to'] !== undefined) {
    if (name !== undefined)
      throw new UsageError('--from and --to are of no CNF: leave its name out');
    return tracePolicies(given, io, signal);
  }
  const options = optionsSchema.parse(given);
  const packet = packetIn(given);
  if (options.live) return runLive(name, { given, options, packet }, io, signal);
  const read = await readManifests(options.filename, io);
  if ('code' in read) return read.code;
  const { read: sources } = read;
  const networks = networksGiven(options.networks);
  const others = await administrators(options.firewall, io);
  const finish = (traced: Traced): ExitCode => {
    const view = tracedView(traced, { packet, incoming: options.in, out: options.out, others });
    print(io, options.output, { data: view, table: (isWide) => traceText(view, isWide) });
    return codeOf(view.answer);
  };
  if (name === undefined) {
    for (const problem of render(sources, networks).problems) io.say(remarkLine(problem));
    return finish(offline(rulesIn(sources, networks)));
  }
  return withCluster({ options: given, io }, async ({ client, namespace: usual }) => {
    const namespace = namespaceOf(given, usual);
    const facts = await gather(client, { namespace, withPods: true }, signal);
    const changes = sources.length === 0 ? [] : rulesIn(sources, networks);
    if (sources.length > 0 && changes.length === 0)
      throw new UsageError('the files have no rules that can be read');
    const traced = inCluster(facts, cnfNamed(facts, name, namespace), { changes, networks });
    return finish({ ...traced, notKnown: [...rightsOf(facts.lacking), ...traced.notKnown] });
  });
};

type LiveGiven = {
  given: Given['options'];
  options: z.infer<typeof optionsSchema>;
  packet: ReturnType<typeof packetIn>;
};

const runLive = (
  name: string | undefined,
  { given, options, packet }: LiveGiven,
  io: CommandIo,
  signal: AbortSignal,
): Promise<ExitCode> => {
  if (name === undefined) throw new UsageError('--live: specify a CNF or a pod');
  return withCluster({ options: given, io }, async (cluster) => {
    const namespace = namespaceOf(given, cluster.namespace);
    const facts = await gather(cluster.client, { namespace, withPods: true }, signal);
    const pods = agentPodsOf(facts, name, namespace);
    const asked = { packet, in: options.in, out: options.out };
    const traces = await Promise.all(
      pods.map((pod) => traceOfPod(pod, asked, { cluster, facts, signal })),
    );
    const view = liveTraceView(traces, { cnf: pods[0]?.purpose ?? name, ...asked });
    const text = (isWide: boolean): string => liveTraceText(view, isWide);
    print(io, options.output, { data: view, table: text });
    for (const line of rightsOf(facts.lacking)) io.say(line);
    return codeOfAll(traces);
  });
};

type AskedPacket = {
  packet: LivePacket['packet'];
  in: string | undefined;
  out: string | undefined;
};

const traceOfPod = async (
  pod: AgentPod,
  { packet, ...ends }: AskedPacket,
  { cluster, facts, signal }: { cluster: Cluster; facts: ClusterFacts; signal: AbortSignal },
): Promise<PodTrace> => {
  const { networks, surroundings } = aroundPod(facts, pod);
  const device = (given: string | undefined): string | undefined =>
    given === undefined ? undefined : deviceOf(given, networks, surroundings);
  const way = { packet, incoming: device(ends.in), out: device(ends.out) };
  try {
    const inspection = await inspectAgent(cluster, pod, signal);
    const kernel = await kernelRules(cluster, pod, signal);
    return podTrace(pod, { inspection, kernel, surroundings }, way);
  } catch (error) {
    if (!(error instanceof CannotTellError)) throw error;
    return unaskedTrace(pod, error.message);
  }
};

/** Yes only where all pods accept it, no where one does not; else unknown. */
const codeOfAll = (traces: readonly PodTrace[]): ExitCode => {
  const codes = new Set(
    traces.map(({ configuration, agree }) =>
      configuration && agree !== false ? codeOf(configuration) : EXIT.unknown,
    ),
  );
  return [EXIT.unknown, EXIT.no].find((code) => codes.has(code)) ?? EXIT.done;
};

/** @throws UsageError for what is no file of UCI */
const administrators = async (
  file: string | undefined,
  { readText }: CommandIo,
): Promise<readonly UciSection[] | undefined> => {
  if (file === undefined) return undefined;
  try {
    return parsePackage('firewall', await readText(file)).sections;
  } catch (error) {
    if (error instanceof UciSyntaxError) throw new UsageError(`${file}: ${error.message}`);
    throw error;
  }
};

const codeOf = ({ branches, isDecided }: TraceAnswer): ExitCode => {
  const verdict = branches[0]?.outcome.verdict;
  if (!isDecided || verdict === undefined || verdict === 'undecided') return EXIT.unknown;
  return verdict === 'accepted' ? EXIT.done : EXIT.no;
};
