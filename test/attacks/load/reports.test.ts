/**
 * A tenant with tokens of `serviceaccounts/token` makes pods that no node runs, with a container
 * that is named as the agent, and reports states of rules that do not exist; and a pod that runs
 * changes its words without pause. Before, all of it was kept, and everybody waited.
 */
import { Agent } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REPORT_VERSION, type RuleReport } from '#shared/protocol/report.ts';
import { createPod, createRunningPod, tokenFor } from '../../integration/coordinator/pods.ts';
import { post } from '../../integration/coordinator/agent.ts';
import { createRule } from '../../integration/coordinator/rules.ts';
import { createFixture, type Fixture } from '../../integration/coordinator/fixture.ts';
import { createControlGroup, type ControlGroup } from '../control-group.ts';
import { memoryOf } from '../memory.ts';

const PODS = 10;
/** Rules of each report, as many as fit into 1 MiB. */
const WORDS = 780;
const PAGES = 20;
const FLIPS = 300;

let fixture: Fixture;
const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
let group: ControlGroup | undefined;
beforeAll(async () => {
  group = await createControlGroup();
  fixture = await createFixture({ group });
});
afterAll(async () => {
  await dispatcher.close();
  await fixture.close();
  await group?.end();
});

const wordsOf = (pod: string, page: number, count: number): RuleReport[] =>
  Array.from({ length: count }, (_, index) => ({
    kind: 'FirewallRule',
    name: `rule-${page}-${index}`,
    uid: `${pod}-${page}-${index}`,
    generation: 1,
    revision: 'r',
    state: 'Failed',
    reason: 'Refused',
    message: 'x'.repeat(1_024),
  }));

const reportOf = (rules: readonly object[], changes: object = {}): string =>
  JSON.stringify({
    version: REPORT_VERSION,
    clock: { startedAt: Date.now(), sentAt: Date.now() },
    doubt: '',
    fleet: {},
    bootId: 'boot-of-an-attacker',
    sequence: 1,
    page: 0,
    pages: 1,
    purpose: 'cnf-1',
    openwrt: { reachable: true, driver: 'ubus', message: '', driftRepairs: 0 },
    unwatchedKinds: [],
    rules,
    ...changes,
  });

const send = async (pod: string, token: string, body: string): Promise<number> =>
  (await post(fixture, dispatcher, { namespace: fixture.namespace, pod, token, body })).status;

describe('reports of a tenant', () => {
  it('are refused for pods that no node runs', async () => {
    const before = memoryOf(fixture.coordinator.pid).now;
    const names = Array.from({ length: PODS }, (_, index) => `pending-${index}`);
    const statuses = new Set<number>();
    for (const name of names) {
      const token = await tokenFor(fixture, await createPod(fixture, { name }));
      for (let page = 0; page < PAGES; page += 1)
        statuses.add(
          await send(name, token, reportOf(wordsOf(name, page, WORDS), { page, pages: PAGES })),
        );
    }
    const { peak } = memoryOf(fixture.coordinator.pid);
    console.log(`${PODS} pods that wait: ${before} MiB before, at most ${peak} MiB`);
    expect([...statuses].filter((status) => status === 200)).toEqual([]);
    expect(peak).toBeLessThan(200);
  });

  it('are kept for pods that run as far as there are such rules', async () => {
    const before = memoryOf(fixture.coordinator.pid).now;
    for (let index = 0; index < PODS; index += 1) {
      const name = `running-${index}`;
      const token = await tokenFor(fixture, await createRunningPod(fixture, { name }));
      for (let page = 0; page < PAGES; page += 1)
        await send(name, token, reportOf(wordsOf(name, page, WORDS), { page, pages: PAGES }));
    }
    const { peak } = memoryOf(fixture.coordinator.pid);
    console.log(`${PODS} pods that run: ${before} MiB before, at most ${peak} MiB`);
    expect(peak).toBeLessThan(250);
  });

  it('have one rule once, whatever they say of it, until their last page comes', async () => {
    const before = memoryOf(fixture.coordinator.pid).now;
    const { uid } = (await createRule(fixture, { name: 'known' })).metadata;
    const tunnelsDown = 'Ā'.repeat(512);
    const [word] = wordsOf('known', 0, 1);
    const words = Array.from({ length: WORDS }, () => ({ ...word, uid, message: '', tunnelsDown }));
    for (let index = 0; index < PODS; index += 1) {
      const name = `repeating-${index}`;
      const token = await tokenFor(fixture, await createRunningPod(fixture, { name }));
      for (let page = 0; page < PAGES - 1; page += 1)
        await send(name, token, reportOf(words, { page, pages: PAGES }));
    }
    const { peak } = memoryOf(fixture.coordinator.pid);
    console.log(`${PODS} pods that repeat: ${before} MiB before, at most ${peak} MiB`);
    expect(peak).toBeLessThan(250);
  });

  it('are accepted at most ten times a second when they change without pause', async () => {
    const token = await tokenFor(fixture, await createRunningPod(fixture, { name: 'flips' }));
    const startedAt = performance.now();
    const statuses: number[] = [];
    for (let sequence = 1; sequence <= FLIPS; sequence += 1)
      statuses.push(
        await send('flips', token, reportOf(wordsOf('flips', sequence, 100), { sequence })),
      );
    const seconds = (performance.now() - startedAt) / 1_000;
    const taken = statuses.filter((status) => status === 200).length;
    console.log(`${taken} of ${FLIPS} reports taken in ${seconds.toFixed(1)} s`);
    expect(taken).toBeLessThanOrEqual(60 + 10 * seconds + 1);
    expect(statuses).toContain(200);
  });
});
