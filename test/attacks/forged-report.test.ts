/**
 * A user with the right to make tokens of service accounts (`create` on serviceaccounts/token)
 * reports in the place of a CNF's agent. Beside it runs the agent's own reporting, as in a pod.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { KubeObject, RuleObject } from '#shared/kube/objects.ts';
import type { RuleReport, RuleState } from '#shared/protocol/report.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createBoot } from '../../agent/report/boot.ts';
import { createChangeLog } from '../../agent/report/change-times.ts';
import { createReportClient } from '../../agent/report/client.ts';
import { createPublisher, type Publisher } from '../../agent/report/publish.ts';
import { createAgent, ruleReport } from '../integration/coordinator/agent.ts';
import { eventually, pause } from '../integration/support/eventually.ts';
import { createRunningPod, tokenFor } from '../integration/coordinator/pods.ts';
import { createRule, deleteRule, readRule, statusOf } from '../integration/coordinator/rules.ts';
import { createFixture, type Fixture } from '../integration/coordinator/fixture.ts';

let fixture: Fixture;
let victim: KubeObject;
let rule: RuleObject;
let directory: string;
let publisher: Publisher;
/** What the agent found on its OpenWRT. */
let state: RuleState = 'Applied';
const stopping = new AbortController();
let reporting: Promise<void>;

const rulesOnIt = (): RuleReport[] => [ruleReport(rule, state)];

const found = (next: RuleState): void => {
  state = next;
  publisher.mark();
};

beforeAll(async () => {
  fixture = await createFixture();
  directory = await mkdtemp(join(tmpdir(), 'forged-'));
  victim = await createRunningPod(fixture, { name: 'victim' });
  rule = await createRule(fixture, { name: 'target' });
  const files = { ca: join(directory, 'ca.crt'), token: join(directory, 'token') };
  await writeFile(files.ca, fixture.ca);
  await writeFile(files.token, await tokenFor(fixture, victim));
  let sequence = 0;
  const url = new URL(fixture.coordinator.reportUrl);
  publisher = createPublisher({
    changes: createChangeLog(systemClock),
    counters: () => undefined,
    snapshot: () => ({
      openwrt: { reachable: true, driver: 'ubus', message: '', driftRepairs: 0 },
      unwatchedKinds: [],
      drifts: [],
      rules: rulesOnIt(),
      doubt: '',
      fleet: {},
      verified: undefined,
      information: undefined,
    }),
    client: createReportClient({
      target: { url, serverName: undefined, others: () => 1 },
      caFile: files.ca,
      tokenFile: files.token,
      namespace: fixture.namespace,
      pod: 'victim',
      clock: systemClock,
    }),
    boot: createBoot(),
    startedAt: Date.now(),
    nextSequence: () => (sequence += 1),
    purpose: 'cnf-1',
    heartbeatMs: 500,
    clock: systemClock,
    isOrder: () => true,
    onOrder: () => undefined,
    onCommentsReported: async () => undefined,
    onSent: () => undefined,
    log: silentLogger,
  });
  reporting = publisher.run(stopping.signal);
});
afterAll(async () => {
  stopping.abort();
  await reporting;
  await fixture.close();
  await rm(directory, { recursive: true });
});

it('does not silence the agent: its own reports count again', async () => {
  await eventually(() => statusOf(fixture, 'target')).toMatchObject({ inSync: true });
  const forger = await createAgent(fixture, victim);
  await forger.says([rule, 'Failed', { reason: 'RefusedByOpenwrt', message: 'forged' }]);
  await eventually(() => forger.beats()).toMatchObject({
    status: 409,
    body: { error: { code: 'old-boot' } },
  });
  found('Pending');
  await eventually(() => statusOf(fixture, 'target')).toMatchObject({ inSync: false });
  found('Applied');
  await eventually(() => statusOf(fixture, 'target')).toMatchObject({ inSync: true });
  await forger.close();
});

it('withholds the rule from pods that start only until the agent reports that it has it', async () => {
  found('Pending');
  await eventually(() => statusOf(fixture, 'target')).toMatchObject({ inSync: false });
  const forger = await createAgent(fixture, victim);
  // The agent's own next report may come before the coordinator has written what is forged.
  await eventually(async () => {
    forger.boots();
    await forger.says([rule, 'Failed', { reason: 'LostConnectivity', message: 'forged' }]);
    return await statusOf(fixture, 'target');
  }).toMatchObject({ lostConnectivity: { message: 'forged', pod: 'victim' } });
  found('Applied');
  await eventually(() => statusOf(fixture, 'target')).not.toHaveProperty('lostConnectivity');
  await forger.close();
});

it('does not remove a finalizer by confirming another version of the rule', async () => {
  await deleteRule(fixture, 'target');
  await eventually(() => statusOf(fixture, 'target')).toMatchObject({ state: 'Being delete' });
  const forger = await createAgent(fixture, victim);
  await forger.says([rule, 'Removed', { revision: 'of-nothing' }]);
  await pause(1_500);
  expect(await readRule(fixture, 'target')).toBeDefined();
  await forger.close();
  found('Removed');
  await eventually(() => readRule(fixture, 'target')).toBeUndefined();
});
