/** Each rule of firewalls that nobody has seen before is hit by the packet that the evaluator names, or by none: as many firewalls as SDEWAN_TRACE_SCENES says. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SEED } from '#shared/runtime/testing.ts';
import { exampleOf, type Sought } from '#shared/trace/example/search.ts';
import { firewallOf, sectionsOf } from '#shared/trace/firewall.ts';
import { hiddenRules } from '#shared/trace/hidden.ts';
import type { Firewall } from '#shared/trace/types.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { sceneOf, sentOf, surroundings, type SentPacket } from '../scenes.ts';
import { Kernel } from './kernel.ts';

const SCENES = Number(process.env['SDEWAN_TRACE_SCENES'] ?? 20);
/** Random packets, which may hit what none should. */
const PER_SCENE = 40;
/** Away from the seeds of the other tests. */
const FIRST = SEED * 10_000 + 5_000_000;
const MS_PER_SCENE = 10_000;

let kernel: Kernel;
beforeAll(() => {
  kernel = new Kernel();
});
afterAll(() => kernel.close());

const keyOf = (packet: SentPacket): string => {
  const { protocol, source, destination, sourcePort, destinationPort, icmp } = packet;
  const ends = [`${source} ${sourcePort}`, `${destination} ${destinationPort}`].sort();
  return [protocol, ...ends, icmp?.type, icmp?.code].join(' ');
};

/** Each round with connections of its own: a second packet of one meets no rules. The first round has as many of the others as it can. */
const roundsOf = (
  named: Iterable<SentPacket>,
  others: readonly SentPacket[],
): readonly (readonly SentPacket[])[] => {
  const rounds: Map<string, SentPacket>[] = [new Map()];
  for (const packet of named) {
    const key = keyOf(packet);
    const round = rounds.find((one) => !one.has(key));
    if (round) round.set(key, packet);
    else rounds.push(new Map([[key, packet]]));
  }
  const [first, ...more] = rounds.map((round) => [...round.values()]);
  const fitting = others.filter((one) => !rounds[0]?.has(keyOf(one)));
  return [[...(first ?? []), ...fitting], ...more];
};

/** What is assumed of a first packet holds where it is about those before it. */
const isFirst = ({ words, holds }: { words: string; holds: boolean }): boolean =>
  words.startsWith('there have been no more than') ? holds : words.includes('syn_flood') && !holds;

/** Undefined where it depends on what nobody sends, such as the time. */
const namedFor = (section: UciSection, { example }: Sought): SentPacket | undefined => {
  const isHit = example?.trace.branches.some(
    ({ met, assumed }) => met.has(section) && assumed.every(isFirst),
  );
  return example && isHit ? sentOf(example.packet) : undefined;
};

/** What the evaluator says of the rules of a firewall. */
type Said = { named: ReadonlyMap<SentPacket, string>; none: ReadonlySet<string>; wrong: string[] };

const saidOf = (firewall: Firewall): Said => {
  const hidden = new Set(hiddenRules(firewall).map(({ section }) => section.name));
  const said = {
    named: new Map<SentPacket, string>(),
    none: new Set(hidden),
    wrong: [] as string[],
  };
  for (const section of sectionsOf(firewall)) {
    const sought = exampleOf(section, { firewall, surroundings, isWhole: true });
    const packet = namedFor(section, sought);
    if (packet) said.named.set(packet, section.name);
    if (sought.isSearched) said.none.add(section.name);
    if (sought.example && hidden.has(section.name))
      said.wrong.push(`${section.name} is called hidden, and has a packet`);
  }
  return said;
};

/** @param met by the packet, as the kernel says */
const wrongWith = (
  packet: SentPacket,
  met: ReadonlySet<string>,
  { named, none }: Said,
): string[] => {
  const name = named.get(packet);
  const text = JSON.stringify(packet);
  return [
    ...(name !== undefined && !met.has(name)
      ? [`${name} is not hit by ${text}, but ${[...met].join(', ')}`]
      : []),
    ...[...met].filter((one) => none.has(one)).map((one) => `${one} is hit by ${text}`),
  ];
};

it(
  'the packet that is named for a rule comes to it, and none comes to the others',
  async () => {
    const counts = { rules: 0, named: 0, none: 0, unheard: 0, rounds: 0 };
    const wrong: string[] = [];
    for (let seed = FIRST; seed < FIRST + SCENES; seed++) {
      const scene = sceneOf(seed, PER_SCENE);
      const firewall = firewallOf(scene.sections, surroundings.networks);
      if (firewall.refused.length > 0) continue;
      const said = saidOf(firewall);
      const found = [...said.wrong];
      counts.rules += sectionsOf(firewall).length;
      counts.named += said.named.size;
      counts.none += said.none.size;
      for (const packets of roundsOf(said.named.keys(), scene.packets)) {
        counts.rounds += 1;
        const answer = await kernel.judge({ ...scene, packets });
        if (answer === 'refused') throw new Error(`scene ${seed}: nft refuses it`);
        for (const [at, packet] of packets.entries()) {
          const met = answer.met[at];
          if (met) found.push(...wrongWith(packet, met, said));
          else if (said.named.has(packet)) counts.unheard += 1;
        }
      }
      wrong.push(...found.map((one) => `scene ${seed}: ${one}`));
    }
    console.info(JSON.stringify(counts));
    expect(wrong.slice(0, 3)).toEqual([]);
    expect(counts.unheard).toBeLessThan(counts.named / 50);
    expect(counts.rules - counts.named - counts.none).toBeLessThan(counts.rules / 20);
  },
  SCENES * MS_PER_SCENE,
);
