/** A trace as a value and as text. Pure. */
import * as z from 'zod';
import { addressOf } from '#shared/util/addresses.ts';
import { addressText, portsText } from '#shared/trace/conditions.ts';
import type { Packet } from '#shared/trace/packet.ts';
import { protocolName } from '#shared/trace/protocols.ts';
import {
  isDecided,
  type Branch,
  type Outcome,
  type Stage,
  type Trace,
} from '#shared/trace/trace.ts';
import type { Way } from '#shared/trace/routes.ts';
import type { Origin, PortRange, Range } from '#shared/trace/types.ts';
import type { PassedOver } from '#shared/trace/walk.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { headOf } from './output/format.ts';
import { printable, table } from './output/table.ts';

const stageSchema = z.object({
  stage: z.enum(['zone in', 'notrack', 'mark', 'dnat', 'route', 'zone out', 'filter', 'snat']),
  decidedBy: z
    .string()
    .describe('A rule, a section of an administrator, a policy; empty: none of them.'),
  does: z.string(),
  passedOver: z.array(
    z.object({
      rule: z.string(),
      field: z.string().describe('The first option that did not fit.'),
    }),
  ),
});

const outcomeSchema = z.object({
  verdict: z.enum(['accepted', 'rejected', 'dropped', 'undecided']),
  text: z.string(),
});

export const traceAnswerSchema = z.object({
  isDecided: z.boolean().describe('All branches end alike.'),
  isWhole: z.boolean().describe('No branch was left out.'),
  branches: z.array(
    z.object({
      assumed: z.array(z.object({ words: z.string(), holds: z.boolean() })),
      stages: z.array(stageSchema),
      outcome: outcomeSchema,
    }),
  ),
});
export type TraceAnswer = z.infer<typeof traceAnswerSchema>;

export const traceViewSchema = z.object({
  ...headOf('Trace'),
  cnf: z.string(),
  packet: z.string(),
  before: traceAnswerSchema
    .optional()
    .describe('Without the files of -f, where they change a CNF.'),
  answer: traceAnswerSchema,
  notKnown: z.array(z.string()).describe('What the answer does not take into account.'),
});
export type TraceView = z.infer<typeof traceViewSchema>;

type NameOf = (section: UciSection) => string;

export const traceAnswerOf = (trace: Trace, family: 4 | 6, nameOf: NameOf): TraceAnswer => ({
  isDecided: isDecided(trace),
  isWhole: trace.isWhole,
  branches: trace.branches.map(({ assumed, stages, outcome }: Branch) => ({
    assumed: assumed.map((one) => ({ ...one })),
    stages: stages.map((stage) => stageOf(stage, family, nameOf)),
    outcome: { verdict: VERDICTS[outcome.verdict], text: outcomeText(outcome, family) },
  })),
});

const VERDICTS = {
  accept: 'accepted',
  reject: 'rejected',
  drop: 'dropped',
  undecided: 'undecided',
} as const;

type ShownStage = z.infer<typeof stageSchema>;

const stageOf = (stage: Stage, family: 4 | 6, nameOf: NameOf): ShownStage => {
  if ('zones' in stage) {
    const zones = stage.zones.length === 0 ? 'no zone' : `zone ${stage.zones.join(', then ')}`;
    const does = `${stage.device} is in ${zones}`;
    return { stage: stage.stage, decidedBy: '', does, passedOver: [] };
  }
  if ('way' in stage) {
    const { way } = stage;
    return {
      stage: 'route',
      decidedBy: way.by ? originText(way.by.rule, nameOf) : '',
      does: wayText(way),
      passedOver: way.by ? passedOver(way.by.passed, nameOf) : [],
    };
  }
  const passed = passedOver(stage.passed, nameOf);
  if ('mark' in stage)
    return {
      stage: 'mark',
      decidedBy: stage.by.map((one) => originText(one, nameOf)).join(', '),
      does: `marked 0x${stage.mark.toString(16)}`,
      passedOver: passed,
    };
  const decidedBy = stage.by ? originText(stage.by, nameOf) : '';
  return { stage: stage.stage, decidedBy, does: doesText(stage, family), passedOver: passed };
};

const wayText = (way: Way): string => {
  if (way.to === 'device') return `by ${way.device}: ${way.why}`;
  return `${way.to === 'cnf' ? 'to the CNF itself' : 'nowhere'}: ${way.why}`;
};

type RuleStage = Extract<Stage, { decision: unknown }>;

const doesText = ({ stage, decision, now }: RuleStage, family: 4 | 6): string => {
  if (stage === 'notrack') return 'not tracked, so nothing translates it';
  if (now) {
    const { address, ports, device } = now;
    return `${stage === 'dnat' ? 'to' : 'from'} ${endText(address, ports, { family, device })}`;
  }
  const action = decision?.action.do;
  if (action === 'accept' || action === 'reject' || action === 'drop') return VERDICTS[action];
  return stage === 'filter' ? 'not known' : 'not translated';
};

type Where = { family: 4 | 6; device: string | undefined };

const endText = (
  address: Range | undefined,
  ports: PortRange | undefined,
  { family, device }: Where,
): string =>
  `${address ? addressText(address, family) : `the address of ${device ?? 'the device'}`}${ports ? ` port ${portsText(ports)}` : ''}`;

export const originText = (origin: Origin, nameOf: NameOf): string => {
  if (origin.of === 'section') return nameOf(origin.section);
  if (origin.of === 'zone')
    return `${origin.option.startsWith('masq') ? 'masquerading' : `policy ${origin.option}`} of zone ${origin.zone} (${nameOf(origin.section)})`;
  if (origin.of === 'default') return `default: policy ${origin.option} of section defaults`;
  return origin.of === 'inner' ? origin.words : '';
};

/** Each section once: by that of its rules of the kernel that came nearest. */
const passedOver = (
  passed: readonly PassedOver[],
  nameOf: NameOf,
): { rule: string; field: string }[] => {
  const nearest = new Map<string, PassedOver>();
  for (const one of passed) {
    if (one.origin.of !== 'section') continue;
    const name = nameOf(one.origin.section);
    const known = nearest.get(name);
    if (!known || one.depth > known.depth) nearest.set(name, one);
  }
  return [...nearest].map(([rule, { condition }]) => ({ rule, field: condition.option }));
};

const outcomeText = (outcome: Outcome, family: 4 | 6): string => {
  const { verdict, out, isForCnf, source, sourcePort, destination, destinationPort, words } =
    outcome;
  const verb = VERDICTS[verdict];
  if (verdict !== 'accept') return words === undefined ? verb : `${verb}: ${words}`;
  const from = endText(source, sourcePort, { family, device: out });
  const to = endText(destination, destinationPort, { family, device: undefined });
  return isForCnf
    ? `${verb} by the CNF: from ${from} to ${to}`
    : `${verb}: leaves by ${out}, from ${from} to ${to}`;
};

export const packetText = (packet: Omit<Packet, 'in'>, device: string | undefined): string => {
  const { family, source, destination, sourcePort, destinationPort, protocol, icmp } = packet;
  const end = (address: bigint, port: number | undefined): string =>
    `${addressOf(address, family)}${port === undefined ? '' : ` port ${port}`}`;
  const type = icmp ? ` type ${icmp.type}` : '';
  const way = device === undefined ? 'sent by the CNF itself' : `in by ${device}`;
  return `${protocolName(protocol)}${type} from ${end(source, sourcePort)} to ${end(destination, destinationPort)}, ${way}`;
};

export const traceText = (
  { packet, before, answer, notKnown }: TraceView,
  isWide: boolean,
): string => {
  const parts = before
    ? [`Before:\n${answerText(before, isWide)}`, `After:\n${answerText(answer, isWide)}`]
    : [answerText(answer, isWide)];
  const notes = notesText(notKnown);
  const last = before
    ? `before: ${conclusion(before)}\nafter: ${conclusion(answer)}\n`
    : `${conclusion(answer)}\n`;
  return [
    `${printable(packet)}; the first packet of a connection\n`,
    ...parts,
    ...(notes === '' ? [] : [notes]),
    last,
  ].join('\n');
};

export const notesText = (notKnown: readonly string[]): string =>
  notKnown.map((note) => `not known: ${printable(note)}\n`).join('');

export const answerText = ({ branches, isWhole }: TraceAnswer, isWide: boolean): string =>
  branches
    .map(({ assumed, stages }) => {
      const head = assumed.length === 0 ? '' : `${caseText(assumed)}:\n`;
      return `${head}${table(
        ['STAGE', 'WHAT', 'DECIDED BY', 'PASSED OVER'],
        stages.map((one) => [
          one.stage,
          one.does,
          one.decidedBy === '' ? '-' : one.decidedBy,
          passedText(one.passedOver, isWide),
        ]),
      )}`;
    })
    .join('\n') + (isWhole ? '' : '\nand further cases\n');

const SHOWN = 3;

const passedText = (
  passed: TraceAnswer['branches'][number]['stages'][number]['passedOver'],
  isWide: boolean,
): string => {
  const shown = isWide ? passed : passed.slice(-SHOWN);
  const more = passed.length - shown.length;
  const words = shown.map(({ rule, field }) => `${rule} (${field})`).join(', ');
  return more > 0 ? `${words} and ${more} before` : words;
};

/** When a branch is the case. One that begins with what does not hold comes last. */
export const caseText = (assumed: TraceAnswer['branches'][number]['assumed']): string => {
  const from = assumed.findIndex(({ holds }) => holds);
  if (from === -1) return 'otherwise';
  const words = assumed.slice(from).map((one) => (one.holds ? one.words : `not: ${one.words}`));
  return `${from === 0 ? '' : 'otherwise, '}if ${words.join(', and ')}`;
};

/** `if …: A; otherwise: B`. */
export const conclusion = ({ branches, isDecided: isOne, isWhole }: TraceAnswer): string => {
  const [first] = branches;
  if (!first) return 'undecided';
  if (isOne) return printable(first.outcome.text);
  const cases = branches.map(({ assumed, outcome }) =>
    assumed.length === 0 ? outcome.text : `${caseText(assumed)}: ${outcome.text}`,
  );
  return printable([...cases, ...(isWhole ? [] : ['and further cases'])].join('; '));
};
