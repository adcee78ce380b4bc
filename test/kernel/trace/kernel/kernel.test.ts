/**
 * Firewalls that are made anew in each run, judged by the kernel of this machine: as many packets
 * as SDEWAN_TRACE_PACKETS says.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SEED } from '#shared/runtime/testing.ts';
import { firewallOf } from '#shared/trace/firewall.ts';
import { hiddenRules } from '#shared/trace/hidden.ts';
import type { Firewall } from '#shared/trace/types.ts';
import { agrees, judge, kernelReading, type Judgement } from '../judgement.ts';
import { sceneOf, surroundings } from '../random-firewalls.ts';
import { Kernel } from './kernel.ts';

const PACKETS = Number(process.env['SDEWAN_TRACE_PACKETS'] ?? 500);
const PER_SCENE = 40;
/** Away from the seeds of the corpus. */
const FIRST = SEED * 10_000;
const MS_PER_PACKET = 1_000;

let kernel: Kernel;
beforeAll(() => {
  kernel = new Kernel();
});
afterAll(() => kernel.close());

const decidingThoughHidden = (
  firewall: Firewall,
  judgements: readonly (Judgement | undefined)[],
): string[] => {
  const hidden = new Set(hiddenRules(firewall).map(({ section }) => section.name));
  return judgements
    .flatMap((told) => (told ? [told.filter, told.dnat, told.snat] : []))
    .filter((name) => hidden.has(name));
};

it(
  'finds that the kernel does what both readings say, with packets that are really sent, and no rule decides that is called hidden',
  async () => {
    let judged = 0;
    let undecided = 0;
    const wrong: string[] = [];
    for (let seed = FIRST; judged < PACKETS; seed++) {
      const scene = sceneOf(seed, PER_SCENE);
      const firewall = firewallOf(scene.sections, surroundings.networks);
      const answer = await kernel.judge(scene);
      const isRefused = firewall.refused.length > 0;
      if (isRefused !== (answer === 'refused'))
        wrong.push(`scene ${seed}: nft ${isRefused ? 'takes' : 'refuses'} it`);
      if (answer === 'refused') continue;
      for (const name of decidingThoughHidden(firewall, answer.judgements))
        wrong.push(`scene ${seed}: ${name} is called hidden, and has decided`);
      const readings = { configuration: firewall, kernel: kernelReading(scene, answer.listing) };
      for (const [at, packet] of scene.packets.entries()) {
        const told = answer.judgements[at];
        if (!told) continue;
        judged += 1;
        for (const [reading, of] of Object.entries(readings)) {
          const { alternatives, isDecided } = judge(of, packet);
          if (!isDecided) undecided += 0.5;
          if (!alternatives.some((one) => agrees(one, told)))
            wrong.push(
              `scene ${seed}, packet ${at}, by the ${reading}: ${JSON.stringify({ packet, told, alternatives })}`,
            );
        }
      }
    }
    expect(wrong.slice(0, 3)).toEqual([]);
    expect(undecided).toBeLessThan(judged / 20);
  },
  PACKETS * MS_PER_PACKET,
);
