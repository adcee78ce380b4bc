/** What is traced, from files or from a cluster, and the answer. Pure. */
import type { NetworkTable } from '#shared/compile/types.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { PodStatus } from '#shared/resources/other-kinds/cnf-status.ts';
import type { Packet } from '#shared/trace/packet.ts';
import { trace } from '#shared/trace/trace.ts';
import type { Surroundings } from '#shared/trace/types.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { namesAsInterfaces, networksOf } from './networks.ts';
import { API_VERSION } from './output/format.ts';
import {
  bareSurroundings,
  leftOutFor,
  reportingPod,
  surroundingsOf,
  tracedCnf,
} from './traced-cnf.ts';
import { traceAnswerOf, packetText, type TraceAnswer, type TraceView } from './trace.ts';
import { type AgentPod, purposeOf, type ClusterFacts, type VisibleCnf } from './cluster-facts.ts';
import { UsageError } from './usage-error.ts';
import type { CnfRules } from './rendered.ts';

/** A CNF with its rules, and with those that it would have. */
export type Traced = {
  cnf: string;
  networks: NetworkTable;
  surroundings: Surroundings;
  before: readonly RuleObject[] | undefined;
  rules: readonly RuleObject[];
  notKnown: readonly string[];
};

/** @throws UsageError where the files are not of one CNF */
export const offline = (cnfs: readonly CnfRules[]): Traced => {
  const [one, ...more] = cnfs;
  if (!one) throw new UsageError('specify a CNF, or files with the rules of one: -f FILE');
  if (more.length > 0)
    throw new UsageError(
      `the files have rules of several CNFs: ${cnfs.map(({ cnf }) => cnf).join(', ')}; give those of one`,
    );
  const networks = one.networks ?? namesAsInterfaces(one.rules).networks;
  return {
    cnf: one.cnf,
    networks,
    surroundings: bareSurroundings(networks),
    before: undefined,
    rules: one.rules,
    notKnown: ['addresses and routes of the CNF, which no file tells'],
  };
};

/** `changes`: of files. */
type Given = { changes: readonly CnfRules[]; networks: NetworkTable | undefined };

/** @throws UsageError where the changes are of others */
export const inCluster = (
  facts: ClusterFacts,
  { namespace, purpose, status }: VisibleCnf,
  given: Given,
): Traced => {
  const rules = facts.rules.filter(
    (one) => one.metadata.namespace === namespace && purposeOf(one) === purpose,
  );
  const changes = given.changes.filter(
    (one) => one.cnf === purpose && (one.namespace === '' || one.namespace === namespace),
  );
  if (given.changes.length > 0 && changes.length === 0)
    throw new UsageError(`the files have no rule of ${purpose}`);
  const after = changed(rules, changes);
  const seen = networksOf(facts, { namespace, purpose }) ?? namesAsInterfaces(after);
  const networks = given.networks ?? seen.networks;
  const pod = reportingPod(status);
  return {
    cnf: purpose,
    networks,
    surroundings: pod ? surroundingsOf(pod) : bareSurroundings(networks),
    before: changes.length > 0 ? rules : undefined,
    rules: after,
    notKnown: pod ? firewall3(pod) : ['addresses and routes of the CNF: no pod has reported them'],
  };
};

const firewall3 = ({ name, firewall }: PodStatus): readonly string[] =>
  firewall === 'fw3'
    ? [`how firewall3 reads these rules, which pod ${name} has; this is how firewall4 does`]
    : [];

/** What is around one pod: its CNF's networks, and addresses and routes that its agent reports. */
export const aroundPod = (
  facts: ClusterFacts,
  { namespace, name, purpose }: AgentPod,
): { networks: NetworkTable; surroundings: Surroundings } => {
  const networks = networksOf(facts, { namespace, purpose })?.networks ?? new Map<string, string>();
  const statuses = facts.cnfs.flatMap(({ status }) => status?.information ?? []);
  const pod = statuses.find((one) => one.namespace === namespace && one.name === name);
  return {
    networks,
    surroundings: pod?.interfaces ? surroundingsOf(pod) : bareSurroundings(networks),
  };
};

/** As an apply would leave them. */
const changed = (
  rules: readonly RuleObject[],
  changes: readonly CnfRules[],
): readonly RuleObject[] => {
  const keyOf = ({ kind, metadata }: RuleObject): string => `${kind}/${metadata.name}`;
  const all = new Map(rules.map((rule) => [keyOf(rule), rule]));
  for (const rule of changes.flatMap((one) => one.rules)) {
    const known = all.get(keyOf(rule));
    // What is there already keeps its place.
    const metadata = known
      ? { ...rule.metadata, creationTimestamp: known.metadata.creationTimestamp }
      : { ...rule.metadata, creationTimestamp: LAST };
    all.set(keyOf(rule), { ...rule, metadata });
  }
  return [...all.values()];
};

/** A new rule comes behind all that there are. */
const LAST = '9999-12-31T23:59:59Z';

/** `incoming`, `out`: networks, interfaces or devices. `others`: administrators' sections. */
type Asked = {
  packet: Omit<Packet, 'in'>;
  incoming: string | undefined;
  out: string | undefined;
  others: readonly UciSection[] | undefined;
};

/** @throws UsageError for a network that is not there */
export const tracedView = (traced: Traced, { packet, others, ...ends }: Asked): TraceView => {
  const { networks, surroundings, rules, before, cnf } = traced;
  const device = (given: string | undefined): string | undefined =>
    given === undefined ? undefined : deviceOf(given, networks, surroundings);
  const [incoming, out] = [device(ends.incoming), device(ends.out)];
  const answer = (of: readonly RuleObject[]): { answer: TraceAnswer; notKnown: string[] } => {
    const { cnf: traced, nameOf } = tracedCnf({ rules: of, networks, surroundings, others });
    const result = trace({ ...packet, in: incoming }, { ...traced, out });
    const { refused, includes } = traced.firewall;
    return {
      answer: traceAnswerOf(result, packet.family, nameOf),
      notKnown: [
        ...refused.map(
          ({ section, why }) =>
            `OpenWRT cannot load a firewall with ${nameOf(section)}: ${why}; what it had before stays`,
        ),
        ...includes.map((file) => `what ${file} does, which the firewall loads as well`),
      ],
    };
  };
  const after = answer(rules);
  return {
    apiVersion: API_VERSION,
    kind: 'Trace',
    cnf,
    packet: packetText(packet, incoming),
    ...(before && { before: answer(before).answer }),
    answer: after.answer,
    notKnown: [
      ...traced.notKnown,
      ...(others
        ? []
        : ['sections of administrators; `--live` reads them, `--firewall` takes a file of them']),
      ...leftOutFor(rules.map(({ kind }) => kind)),
      ...after.notKnown,
    ],
  };
};

/** @throws UsageError with what there is */
export const deviceOf = (
  given: string,
  networks: NetworkTable,
  { networks: interfaces }: Surroundings,
): string => {
  const name = networks.get(given) ?? given;
  const state = interfaces.get(name);
  if (state) return state.device ?? name;
  const devices = [...interfaces.values()].flatMap(({ device }) => device ?? []);
  if (devices.includes(name) || networks.has(given)) return name;
  const known = [...new Set([...networks.keys(), ...interfaces.keys(), ...devices])];
  throw new UsageError(`the CNF has no network ${given}; it has ${known.join(', ')}`);
};
