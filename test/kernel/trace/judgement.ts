/** What became of a packet, in words that the kernel's trace and the evaluator can both say. */
import { addressOf } from '#shared/util/addresses.ts';
import { firewallOf } from '#shared/trace/firewall.ts';
import { kernelFirewall } from '#shared/trace/nft/listing.ts';
import { originsBy } from '#shared/trace/nft/origins.ts';
import { isDecided, trace, type Branch, type RuleStage, type Trace } from '#shared/trace/trace.ts';
import type { Origin, Range } from '#shared/trace/types.ts';
import type { Walkable } from '#shared/trace/walk.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { packetOf, surroundings, type SentPacket } from './random-firewalls.ts';

/**
 * Sections by their names; `policy:ZONE:OPTION`, `dnat:ZONE`, `default:OPTION`, `drop_invalid`;
 * empty: none.
 */
export type Judgement = {
  marks: readonly string[];
  dnat: string;
  filter: string;
  verdict: string;
  snat: string;
  /** What left: device, addresses and ports. */
  left: string;
};

export const leftText = (
  device: string,
  ends: readonly (string | undefined)[],
  ports: readonly (string | number | undefined)[],
): string => [device, ...ends, ...ports.map((port) => port ?? '')].join(' ');

export const nameOf = (origin: Origin | undefined): string => {
  if (origin?.of === 'section') return origin.section.name;
  if (origin?.of === 'zone') return `policy:${origin.zone}:${origin.option}`;
  if (origin?.of === 'default') return `default:${origin.option}`;
  return origin?.of === 'inner' ? `inner:${origin.name}` : '';
};

const judged = ({ stages, outcome }: Branch, packet: SentPacket): Judgement => {
  const of = (name: RuleStage['stage']): string => {
    const stage = stages.find((one): one is RuleStage => one.stage === name);
    return nameOf(stage?.by);
  };
  const family = packet.source.includes(':') ? 6 : 4;
  const address = (range: Range | undefined): string | undefined =>
    range && addressOf(range.low, family);
  const ports = [outcome.sourcePort, outcome.destinationPort].map((range) =>
    range && range.low === range.high ? range.low : range && `${range.low}-${range.high}`,
  );
  return {
    marks: stages.flatMap((one) => (one.stage === 'mark' ? one.by.map(nameOf) : [])),
    dnat: of('dnat'),
    filter: of('filter'),
    verdict: outcome.verdict,
    snat: of('snat'),
    left:
      outcome.verdict === 'accept' && outcome.out !== undefined
        ? leftText(outcome.out, [address(outcome.source), address(outcome.destination)], ports)
        : '',
  };
};

/** The evaluator over what nft lists, whose rules lead back to sections. */
export const kernelReading = (
  { sections }: { sections: readonly UciSection[] },
  listing: string,
): Walkable => {
  const firewall = firewallOf(sections, surroundings.networks);
  const reading = kernelFirewall(listing, originsBy(firewall, sections));
  if (!reading) throw new Error('nft has listed nothing');
  return reading;
};

export type Judged = { trace: Trace; alternatives: readonly Judgement[]; isDecided: boolean };

export const judge = (firewall: Walkable, packet: SentPacket): Judged => {
  const result = trace(packetOf(packet), { firewall, surroundings, isWhole: true });
  const alternatives = result.branches.map((branch) => judged(branch, packet));
  return { trace: result, alternatives, isDecided: isDecided(result) };
};

/** The kernel's says which port it has chosen, the evaluator's between which it chooses. */
export const agrees = (own: Judgement, kernel: Judgement): boolean => {
  const { left, ...words } = own;
  const { left: kernelLeft, ...kernelWords } = kernel;
  return JSON.stringify(words) === JSON.stringify(kernelWords) && isSameLeft(left, kernelLeft);
};

const isSameLeft = (own: string, kernel: string): boolean => {
  const parts = own.split(' ');
  const others = kernel.split(' ');
  return (
    parts.length === others.length &&
    parts.every((part, at) => {
      const [, low, high] = /^(\d+)-(\d+)$/.exec(part) ?? [];
      const other = others[at];
      return low === undefined
        ? part === other
        : Number(other) >= Number(low) && Number(other) <= Number(high);
    })
  );
};
