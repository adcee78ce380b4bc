/**
 * A packet through a pod, by two readings that check each other: its configuration of the firewall,
 * and the rules of its kernel. Pure.
 */
import * as z from 'zod';
import { ledgerKey } from '#shared/compile/ownership.ts';
import type { Inspection } from '#shared/protocol/inspection.ts';
import { firewallOf } from '#shared/trace/firewall.ts';
import { kernelFirewall } from '#shared/trace/nft/listing.ts';
import { originsBy } from '#shared/trace/nft/origins.ts';
import type { Packet } from '#shared/trace/packet.ts';
import { trace, type TracedCnf } from '#shared/trace/trace.ts';
import type { Surroundings } from '#shared/trace/types.ts';
import { uplinksOf } from '#shared/trace/uplinks.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { few } from '#shared/util/few.ts';
import { headOf, API_VERSION } from '../../views/output/format.ts';
import { printable } from '../../views/output/table.ts';
import { leftOutFor, sectionNames, withStaticRoutes } from '../../views/traced-cnf.ts';
import {
  answerText,
  conclusion,
  notesText,
  packetText,
  traceAnswerOf,
  traceAnswerSchema,
  type TraceAnswer,
} from '../../views/trace.ts';
import type { AgentPod } from '../../views/cluster-facts.ts';

const podTraceSchema = z.object({
  namespace: z.string(),
  pod: z.string(),
  configuration: traceAnswerSchema.optional().describe('By the firewall that OpenWRT has.'),
  kernel: traceAnswerSchema.optional().describe("By the rules of the pod's kernel."),
  agree: z.boolean().optional().describe('Both end alike, by the same rules. Absent without both.'),
  notKnown: z.array(z.string()).describe('What the answers do not take into account.'),
});
export type PodTrace = z.infer<typeof podTraceSchema>;

export const liveTraceViewSchema = z.object({
  ...headOf('LiveTrace'),
  cnf: z.string(),
  packet: z.string(),
  pods: z.array(podTraceSchema),
});
export type LiveTraceView = z.infer<typeof liveTraceViewSchema>;

/** `incoming`, `out`: devices. */
export type LivePacket = {
  packet: Omit<Packet, 'in'>;
  incoming: string | undefined;
  out: string | undefined;
};

/** What an agent has answered; `kernel`: what nft lists, or why it cannot be read. */
export type AgentAnswers = {
  inspection: Inspection;
  kernel: { text: string } | { unread: string };
  surroundings: Surroundings;
};

export const podTrace = (
  { namespace, name }: AgentPod,
  { inspection, kernel, surroundings }: AgentAnswers,
  { packet, incoming, out }: LivePacket,
): PodTrace => {
  const held = inspection.packages.find((one) => one.name === PACKAGE);
  if (!held)
    return unaskedTrace({ namespace, name }, 'the agent has not read the firewall of OpenWRT yet');
  const sections: readonly UciSection[] = held.held;
  const nameOf = sectionNames(rulesBySection(inspection));
  const firewall = firewallOf(sections, surroundings.networks);
  const around = aroundOf(inspection, surroundings);
  const answerBy = (traced: Pick<TracedCnf, 'firewall'>): TraceAnswer =>
    traceAnswerOf(
      trace({ ...packet, in: incoming }, { ...traced, surroundings: around, isWhole: true, out }),
      packet.family,
      nameOf,
    );
  const configuration = answerBy({ firewall });
  const reading =
    'text' in kernel ? kernelFirewall(kernel.text, originsBy(firewall, sections)) : undefined;
  const answer = reading && answerBy({ firewall: reading });
  return {
    namespace,
    pod: name,
    configuration,
    ...(answer && { kernel: answer, agree: isSame(configuration, answer) }),
    notKnown: [
      ...('unread' in kernel ? [`the rules of the kernel: ${kernel.unread}`] : []),
      ...('text' in kernel && !reading
        ? ['the rules of the kernel: it has none of firewall4']
        : []),
      ...(reading?.others ?? []).map(
        (chain) => `what chain ${chain} does, which is in the kernel as well and not firewall4's`,
      ),
      ...leftOutFor(inspection.rules.map(({ kind }) => kind)),
      ...firewall.includes.map((file) => `what ${file} does, which the firewall loads as well`),
    ],
  };
};

const aroundOf = ({ packages }: Inspection, surroundings: Surroundings): Surroundings => {
  const heldIn = (name: string) => packages.find((one) => one.name === name)?.held;
  const mwan3 = heldIn(MWAN3);
  return {
    ...withStaticRoutes(surroundings, heldIn(NETWORK) ?? []),
    ...(mwan3 && { uplinks: uplinksOf(mwan3) }),
  };
};

export const unaskedTrace = (
  { namespace, name }: Pick<AgentPod, 'namespace' | 'name'>,
  why: string,
): PodTrace => ({ namespace, pod: name, notKnown: [why] });

const PACKAGE = 'firewall';
const MWAN3 = 'mwan3';
const NETWORK = 'network';

const rulesBySection = ({ rules }: Inspection): ReadonlyMap<string, string> => {
  const prefixes = [PACKAGE, MWAN3].map((name) => ledgerKey(name, ''));
  return new Map(
    rules.flatMap(({ kind, name, sections }) =>
      sections.flatMap((section): [string, string][] => {
        const prefix = prefixes.find((each) => section.startsWith(each));
        return prefix === undefined ? [] : [[section.slice(prefix.length), `${kind}/${name}`]];
      }),
    ),
  );
};

/** What was passed over and what was assumed may be put in other words. */
const isSame = (one: TraceAnswer, other: TraceAnswer): boolean =>
  one.isDecided === other.isDecided && endsOf(one) === endsOf(other);

const endsOf = ({ branches }: TraceAnswer): string =>
  JSON.stringify(
    [
      ...new Set(
        branches.map(({ stages, outcome }) =>
          JSON.stringify([
            outcome,
            stages.map(({ stage, decidedBy, does }) => [stage, decidedBy, does]),
          ]),
        ),
      ),
    ].sort(),
  );

type Given = { cnf: string; packet: LivePacket['packet']; in: string | undefined };

export const liveTraceView = (
  pods: readonly PodTrace[],
  { cnf, packet, in: incoming }: Given,
): LiveTraceView => ({
  apiVersion: API_VERSION,
  kind: 'LiveTrace',
  cnf,
  packet: packetText(packet, incoming),
  pods: [...pods],
});

export const liveTraceText = ({ packet, pods }: LiveTraceView, isWide: boolean): string =>
  [
    `${printable(packet)}; the first packet of a connection\n`,
    ...[...Map.groupBy(pods, (one) => podText(one, isWide))].map(
      ([text, alike]) => `${few(alike.map(({ pod }) => pod))}:\n${text}`,
    ),
    pods.map((one) => `${one.pod}: ${endOf(one)}\n`).join(''),
  ].join('\n');

const podText = ({ configuration, kernel, agree, notKnown }: PodTrace, isWide: boolean): string => {
  const parts =
    agree === false && configuration && kernel
      ? [
          `By the configuration of OpenWRT:\n${answerText(configuration, isWide)}`,
          `By the rules of the kernel:\n${answerText(kernel, isWide)}`,
          `${DIFFERENT}\n`,
        ]
      : configuration
        ? [answerText(configuration, isWide)]
        : [];
  const notes = notesText(notKnown);
  return [...parts, ...(notes === '' ? [] : [notes])].join('\n');
};

const DIFFERENT =
  'The two differ. Where OpenWRT has loaded its configuration, that is an error of this program: report it with what `sdewan support-bundle` writes.';

const endOf = ({ configuration, kernel, agree }: PodTrace): string => {
  if (!configuration) return 'undecided';
  if (agree === false && kernel)
    return `${conclusion(kernel)} (by the configuration: ${conclusion(configuration)})`;
  return `${conclusion(configuration)}${agree === true ? ', and the rules of the kernel say the same' : ''}`;
};
