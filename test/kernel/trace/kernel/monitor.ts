/** The text of `nft monitor trace`, and what it says of each packet. */
import type { Judgement } from '../judgement.ts';

export type Step = { table: string; chain: string; kind: string; text: string };

const LINE = /^trace id (\w+) inet (\w+) (\S+) (packet:|rule|verdict|policy) ?(.*)$/;

const stepIn = (line: string): { id: string; step: Step } | undefined => {
  const [id, table, chain, kind, text] = LINE.exec(line)?.slice(1) ?? [];
  if (id === undefined || table === undefined || chain === undefined || kind === undefined)
    return undefined;
  return { id, step: { table, chain, kind, text: text ?? '' } };
};

/**
 * Lines of one packet, by its number. A packet begins anew at the first hook: the kernel uses its
 * ids again.
 */
export class Monitor {
  readonly steps = new Map<number, Step[]>();
  readonly #numbers = new Map<string, number>();

  line(line: string): void {
    const read = stepIn(line);
    if (!read) return;
    const { id, step } = read;
    if (step.table === 'trace' && step.kind === 'packet:') this.#begin(id, step.text);
    if (step.table === 'fw4') this.steps.get(this.#numbers.get(id) ?? -1)?.push(step);
  }

  #begin(id: string, text: string): void {
    const [, v4, v6] = /\bip id (\d+)|\bip6 flowlabel (\d+)/.exec(text) ?? [];
    const number = Number(v4 ?? v6);
    this.#numbers.set(id, number);
    if (!this.steps.has(number)) this.steps.set(number, []);
  }
}

type Frame = { chain: string; into: string; comment: string };
export type Told = Omit<Judgement, 'left'>;

const OF_KNOWN = /^Handle .* flows$/;
const FILTERS = new Set(['input', 'forward', 'output']);

/** Undefined: the trace is not whole, or the packet was not the first of its connection. */
export const toldBy = (steps: readonly Step[]): Told | undefined => {
  const told: Told & { marks: string[] } = {
    marks: [],
    dnat: '',
    filter: '',
    verdict: '',
    snat: '',
  };
  let stack: Frame[] = [];
  for (const step of steps) {
    while (stack.length > 0 && stack.at(-1)?.into !== step.chain) stack.pop();
    const { frame, verdict } = read(step);
    if (OF_KNOWN.test(frame.comment) && verdict === 'accept') return undefined;
    if (frame.into !== '') stack.push(frame);
    else if (verdict === 'continue') told.marks.push(...marking(step));
    else if (step.kind !== 'verdict') {
      decide(told, { base: (stack[0] ?? frame).chain, frames: [...stack, frame], step, verdict });
      stack = [];
    }
  }
  return told.verdict === '' ? undefined : told;
};

const marking = ({ text }: Step): string[] =>
  text.includes('mark set') ? [sectionIn(/comment "!fw4: ([^"]*)"/.exec(text)?.[1] ?? '')] : [];

const read = ({ chain, text }: Step): { frame: Frame; verdict: string } => {
  const [, comment = ''] = /comment "(?:!fw4: )?([^"]*)"/.exec(text) ?? [];
  const [, verdict = ''] = /\(verdict (.*)\)$/.exec(text) ?? [];
  const [, into = ''] = /^jump (.*)$/.exec(verdict) ?? [];
  return { frame: { chain, into, comment }, verdict };
};

type Decided = { base: string; frames: readonly Frame[]; step: Step; verdict: string };

const decide = (told: Told, { base, frames, step, verdict }: Decided): void => {
  const isPolicy = step.kind === 'policy';
  const by = isPolicy ? '' : deciderIn(frames);
  if (base === 'dstnat') told.dnat = by;
  else if (base === 'srcnat') told.snat = by;
  else if (FILTERS.has(base)) {
    const own = isPolicy ? (step.text.split(' ')[0] ?? '') : verdict;
    told.verdict = step.chain === 'handle_reject' ? 'reject' : own;
    told.filter = by === '' ? `default:${base}` : by;
  }
};

const SECTION = /^s\d+/;
const sectionIn = (comment: string): string => SECTION.exec(comment)?.[0] ?? '';

/** The last that is of a section, of a zone's policy, or of firewall4 itself. */
const deciderIn = (frames: readonly Frame[]): string =>
  frames
    .toReversed()
    .map((frame) => sectionIn(frame.comment) || policyIn(frame) || innerIn(frame))
    .find((name) => name !== '') ?? '';

const policyIn = ({ chain, into, comment }: Frame): string => {
  const [, family, zone] = /^Masquerade IPv(4|6) (\S+) traffic$/.exec(comment) ?? [];
  if (zone !== undefined) return `policy:${zone}:${family === '4' ? 'masq' : 'masq6'}`;
  const [, option, own] = /^(input|output|forward)_(\S+)$/.exec(chain) ?? [];
  const isPolicy = option !== undefined && /^(accept|reject|drop)_(from|to)_/.test(into);
  return isPolicy ? `policy:${own}:${option}` : '';
};

const innerIn = ({ chain, comment }: Frame): string => {
  if (/^Accept port (forwards|redirections)$/.test(comment))
    return `inner:dnat:${chain.replace(/^\w+?_/, '')}`;
  if (comment === 'Prevent NAT leakage') return `inner:invalid:${chain.replace(/^accept_to_/, '')}`;
  if (OF_KNOWN.test(comment)) return 'inner:drop_invalid';
  return chain === 'syn_flood' ? 'inner:syn_flood' : '';
};
