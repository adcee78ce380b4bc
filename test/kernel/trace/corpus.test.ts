/** The recorded judgements of the kernel, against the evaluator as it is now. */
import { beforeAll, describe, expect, it } from 'vitest';
import { firewallOf } from '#shared/trace/firewall.ts';
import { hiddenRules } from '#shared/trace/hidden.ts';
import type { Walkable } from '#shared/trace/walk.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { readCorpus, type Recorded } from './corpus.ts';
import { agrees, judge, kernelReading, type Judgement } from './judgement.ts';
import { surroundings } from './random-firewalls.ts';

let corpus: readonly Recorded[];
let judged: readonly Compared[];
beforeAll(() => {
  corpus = readCorpus();
  judged = corpus.flatMap((recorded) => compared(recorded, recorded.sections));
});

type Compared = { kernel: Judgement; own: readonly Judgement[]; isDecided: boolean; where: string };

const compared = (recorded: Recorded, sections: readonly UciSection[]): Compared[] =>
  comparedBy(recorded, firewallOf(sections, surroundings.networks));

const comparedBy = ({ seed, packets, judgements }: Recorded, firewall: Walkable): Compared[] =>
  packets.flatMap((packet, at) => {
    const kernel = judgements[at];
    if (!kernel) return [];
    const { alternatives, isDecided } = judge(firewall, packet);
    const where = `scene ${seed}, packet ${at}: ${JSON.stringify(packet)}`;
    return [{ kernel, own: alternatives, isDecided, where }];
  });

/** By the rules that the kernel had. */
const comparedInKernel = (
  recorded: Recorded,
  listing: (text: string) => string = (text) => text,
): Compared[] => {
  const reading = recorded.isRefused
    ? undefined
    : kernelReading(recorded, listing(recorded.listing));
  return reading ? comparedBy(recorded, reading) : [];
};

const isWrong = ({ kernel, own }: Compared): boolean => !own.some((one) => agrees(one, kernel));

/** Enough scenes to notice. */
const CHANGED = 60;

describe('the evaluator, judged by the kernel', () => {
  it('is never wrong', () => {
    expect(judged.length).toBeGreaterThanOrEqual(5_000);
    expect(judged.filter(isWrong).slice(0, 3)).toEqual([]);
  });

  it('leaves less than 5 % undecided', () => {
    expect(judged.filter(({ isDecided }) => !isDecided).length).toBeLessThan(judged.length / 20);
  });

  it('knows which firewalls nft refuses', () => {
    const refused = corpus.filter(({ isRefused }) => isRefused);
    const own = corpus.filter(
      ({ sections }) => firewallOf(sections, surroundings.networks).refused.length > 0,
    );
    expect(own.map(({ seed }) => seed)).toEqual(refused.map(({ seed }) => seed));
  });

  it('was asked about each stage a hundred times, and about each way to decide', () => {
    const count = (is: (one: Judgement) => boolean): number =>
      judged.filter(({ kernel }) => is(kernel)).length;
    const HUNDRED = 100;
    const stages: Readonly<Record<string, number>> = {
      mark: count(({ marks }) => marks.length > 0),
      dnat: count(({ dnat }) => dnat !== ''),
      'snat by a section': count(({ snat }) => /^s\d/.test(snat)),
      'snat by a zone': count(({ snat }) => snat.startsWith('policy')),
      'filter by a section': count(({ filter }) => /^s\d/.test(filter)),
      'filter by a zone': count(({ filter }) => filter.startsWith('policy')),
      'filter by default': count(({ filter }) => filter.startsWith('default')),
      'what was translated': count(({ filter }) => filter.startsWith('inner:dnat')),
      accepted: count(({ verdict }) => verdict === 'accept'),
      rejected: count(({ verdict }) => verdict === 'reject'),
      dropped: count(({ verdict }) => verdict === 'drop'),
    };
    expect(Object.entries(stages).filter(([, times]) => times < HUNDRED)).toEqual([]);
  });
});

describe('the reading of what nft lists', () => {
  it('is never wrong, and leaves less than 5 % undecided', () => {
    const all = corpus.flatMap((recorded) => comparedInKernel(recorded));
    expect(all.length).toBe(judged.length);
    expect(all.filter(isWrong).slice(0, 3)).toEqual([]);
    expect(all.filter(({ isDecided }) => !isDecided).length).toBeLessThan(all.length / 20);
  });

  it('leaves undecided what it does not understand, where that may decide', () => {
    const changed = corpus
      .slice(0, CHANGED)
      .flatMap((one) =>
        comparedInKernel(one, (text) =>
          text.replaceAll(' counter ', ' numgen inc mod 2 0 counter '),
        ),
      );
    const admits = ({ own }: Compared): boolean =>
      own.some(({ verdict }) => verdict === 'undecided');
    expect(changed.filter((one) => isWrong(one) && !admits(one))).toEqual([]);
    const undecided = (all: readonly Compared[]): number =>
      all.filter(({ isDecided }) => !isDecided).length;
    const before = corpus.slice(0, CHANGED).flatMap((one) => comparedInKernel(one));
    expect(undecided(changed)).toBeGreaterThan(undecided(before));
  });
});

describe('a rule that is called hidden', () => {
  it('has decided for no packet', () => {
    let count = 0;
    const deciding = corpus.flatMap(({ seed, sections, judgements }) => {
      const hidden = hiddenRules(firewallOf(sections, surroundings.networks));
      const names = new Set(hidden.map(({ section }) => section.name));
      count += names.size;
      const deciders = judgements.flatMap((one) => (one ? [one.filter, one.dnat, one.snat] : []));
      return deciders.filter((name) => names.has(name)).map((name) => `scene ${seed}: ${name}`);
    });
    expect(deciding).toEqual([]);
    expect(count).toBeGreaterThan(100);
  });
});
