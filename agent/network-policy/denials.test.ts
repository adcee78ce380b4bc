import { beforeEach, expect, it } from 'vitest';
import type { TableEntry } from '#shared/policy/nft-table.ts';
import { deniedSchema } from '#shared/protocol/counters.ts';
import { Registry } from '#shared/metrics/prometheus.ts';
import { countersIn } from '../openwrt/network-policy/listing.ts';
import { createAgentMetrics } from '../metrics.ts';
import { createDenials, type Denials } from './denials.ts';

const entry = (id: string, title = `ns/${id}`): TableEntry => ({
  id,
  title,
  enforcement: { pods: 'pods', ingress: [] },
});
const entries = (count: number): TableEntry[] =>
  Array.from({ length: count }, (_, at) => entry(`p${at}`));

let denials: Denials;
beforeEach(() => {
  denials = createDenials();
});
const add = (counters: Record<string, number>): void =>
  denials.add(new Map(Object.entries(counters)));

it('counts each direction of a policy for itself, and adds what has come since', () => {
  denials.begin(entries(1));
  add({ in_p0: 3, eg_p0: 1 });
  add({ in_p0: 5, eg_p0: 1 });
  expect(denials.all()).toEqual([
    { policy: 'ns/p0', direction: 'ingress', packets: 5 },
    { policy: 'ns/p0', direction: 'egress', packets: 1 },
  ]);
});

it('counts a policy at two places as one', () => {
  denials.begin([entry('one', 'ns/web'), entry('two', 'ns/web')]);
  add({ in_one: 3, in_two: 4 });
  expect(denials.all()).toEqual([{ policy: 'ns/web', direction: 'ingress', packets: 7 }]);
});

it('takes a counter that says less than before for one that has begun anew', () => {
  denials.begin(entries(1));
  add({ in_p0: 3 });
  add({ in_p0: 2 });
  expect(denials.all()).toMatchObject([{ packets: 5 }]);
});

it('counts no further than a report can say', () => {
  denials.begin([entry('one', 'ns/web'), entry('two', 'ns/web')]);
  denials.add(countersIn('in_one 18446744073709551615\nin_two 18446744073709551615\n'));
  denials.add(countersIn(`in_one 1${'0'.repeat(400)}\nin_two 2${'0'.repeat(400)}\n`));
  const [denied] = denials.all();
  expect(deniedSchema.parse(denied).packets).toBe(Number.MAX_SAFE_INTEGER);
});

it('counters of others, and of policies that are not there, are nothing', () => {
  denials.begin(entries(1));
  add({ theirs: 3, in_p1: 4 });
  expect(denials.all()).toEqual([]);
});

it('policies beyond the first two hundred are counted together, and have room when others go', () => {
  const counters = (count: number): Record<string, number> =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`in_p${at}`, 1]));
  denials.begin(entries(300));
  add(counters(300));
  expect(denials.all()).toHaveLength(201);
  const together = { policy: 'other', direction: 'ingress', packets: 100 };
  expect(denials.all()).toContainEqual(together);
  denials.begin([entry('p299')]);
  add({ in_p299: 5 });
  expect(denials.all()).toEqual([
    together,
    { policy: 'ns/p299', direction: 'ingress', packets: 5 },
  ]);
});

it('shows in each scrape what was denied so far', async () => {
  const registry = new Registry();
  const unread = (): never => {
    throw new Error('not asked for');
  };
  createAgentMetrics(registry, {
    snapshot: unread,
    leftOvers: unread,
    isPaused: unread,
    denied: denials.all,
  });
  const name = 'sdewan_agent_policy_denied_packets_total';
  const scraped = async (): Promise<string[]> =>
    (await registry.getSingleMetricAsString(name)).split('\n').filter((line) => /^[^#]/.test(line));
  expect(await scraped()).toEqual([]);
  denials.begin(entries(1));
  for (const packets of [3, 5]) {
    add({ in_p0: packets });
    expect(await scraped()).toEqual([`${name}{policy="ns/p0",direction="ingress"} ${packets}`]);
  }
});
