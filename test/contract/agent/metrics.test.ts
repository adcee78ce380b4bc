/** What an agent shows to Prometheus after a history that the test knows. */
import { on, EventEmitter } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { firewallForwarding } from '#shared/resources/rules/firewall-forwarding.ts';
import { firewallRule as ruleKind } from '#shared/resources/rules/firewall-rule.ts';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import type { Report } from '#shared/protocol/report.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { readEnv } from '#shared/runtime/env.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { runAgent } from '../../../agent/agent.ts';
import { agentEnvSchema, loginFilesOf } from '../../../agent/env.ts';
import { createDriver } from '../../../agent/openwrt/drivers.ts';
import { unconfirmedInMemory } from '../../../agent/openwrt/ubus/write/testing.ts';
import {
  startCoordinator,
  type ListeningCoordinator,
} from '../../integration/support/coordinator.ts';
import {
  documentedMetrics,
  NOTHING_UNDOCUMENTED,
  undocumented,
} from '../../openwrt/checks/documented-metrics.ts';
import { readScrape, valueIn, type Scrape } from '../../openwrt/checks/prometheus.ts';
import type { Program } from '../../openwrt/simulator/programs/runner.ts';
import { createSharedClock, type SharedClock } from '../../stack/shared-clock.ts';
import { icnPost } from './support/icn.ts';
import { startOpenwrt, type TestOpenwrt } from './support/openwrt.ts';
import { firewallRule, SEED_NETWORKS, zone } from './support/pass.ts';

let clock: SharedClock;
let openwrt: TestOpenwrt;
let coordinator: ListeningCoordinator;
let metricsUrl: string;
let ended: Promise<void>;
const stopping = new AbortController();
const changes = new EventEmitter();

/** An API server that has these rules, and sends events for what is given to `change`. */
const kubeWith = (rules: readonly RuleObject[]): KubeClient =>
  ({
    list: async ({ kind, schema }) => ({
      items: rules.filter((rule) => rule.kind === kind).map((rule) => schema.parse(rule)),
      resourceVersion: '1',
    }),
    watch: async ({ kind }, { signal }) => linesOf(kind, signal),
  }) as Partial<KubeClient> as KubeClient;

async function* linesOf(kind: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const [event] of on(changes, kind, { signal }))
    yield Buffer.from(`${JSON.stringify(event)}\n`);
}

const change = (object: RuleObject): void => {
  changes.emit(object.kind, { type: 'MODIFIED', object });
};

const scrape = async (): Promise<Scrape> =>
  readScrape(await clock.until(fetch(metricsUrl).then((answer) => answer.text())));

const value = async (name: string, labels: Record<string, string> = {}): Promise<number> =>
  valueIn(await scrape(), `sdewan_agent_${name}`, labels) ?? 0;

const told = (state: string, name: string): Promise<void> =>
  clock.reach(`${name}: ${state}`, () => coordinator.stateOf(name) === state);

const isReachable = (): boolean => coordinator.reports.at(-1)?.openwrt.reachable === true;

const freePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = z.object({ port: z.number() }).parse(server.address());
  await new Promise((resolve) => server.close(resolve));
  return port;
};

/** What `fw4` says of the rule that it cannot take. */
const COMPLAINT = '/dev/stdin:1:1: Error: no such thing\n\t\tx comment "!fw4: refused"\n';
let reloads = 0;
const fw4: Program = () => {
  reloads += 1;
  return { code: 0, stdout: '', stderr: isRefused() ? COMPLAINT : '' };
};
let refuses = true;
const isRefused = (): boolean =>
  refuses && openwrt.text('firewall').includes('sdewan_rule_refused');

beforeAll(async () => {
  clock = createSharedClock();
  coordinator = await startCoordinator();
  openwrt = await startOpenwrt({
    clock: clock.device,
    programs: { '/sbin/fw4': fw4 },
  });
  await clock.until(
    icnPost(openwrt, 'firewall/v1/forwardings', { name: 'left', src: 'lan', dest: 'wan' }),
  );
  const stateDir = join(openwrt.folder, 'state');
  const [networksFile, tokenFile] = [join(openwrt.folder, 'nfn'), join(openwrt.folder, 'token')];
  mkdirSync(stateDir);
  writeFileSync(networksFile, SEED_NETWORKS);
  writeFileSync(tokenFile, 'a-token');
  const port = await freePort();
  metricsUrl = `http://127.0.0.1:${port}/metrics`;
  const env = readEnv(agentEnvSchema, {
    SDEWAN_PURPOSE: 'cnf-1',
    SDEWAN_NAMESPACE: 'default',
    SDEWAN_POD_NAME: 'cnf-1-0',
    SDEWAN_OPENWRT_URL: openwrt.simulator.url,
    SDEWAN_OPENWRT_USERNAME_FILE: openwrt.usernameFile,
    SDEWAN_OPENWRT_PASSWORD_FILE: openwrt.passwordFile,
    SDEWAN_COORDINATOR_URL: coordinator.url,
    SDEWAN_COORDINATOR_TOKEN_FILE: tokenFile,
    SDEWAN_NETWORKS_FILE: networksFile,
    SDEWAN_STATE_DIR: stateDir,
    SDEWAN_HTTP_HOST: '127.0.0.1',
    SDEWAN_HTTP_PORT: String(port),
  });
  const kinds = [firewallZone, firewallForwarding, ruleKind];
  const deleted = { deletionTimestamp: '2026-01-02T00:00:00Z' };
  const kube = kubeWith([
    zone('lan1', 'ovn-net1'),
    firewallRule('good'),
    firewallRule('waiting', { src: 'nowhere' }),
    firewallRule('bad', { target: 'MARK' }),
    firewallRule('deleted', {}, deleted),
  ]);
  const driver = createDriver({
    wanted: env.SDEWAN_DRIVER,
    target: { url: env.SDEWAN_OPENWRT_URL },
    logins: loginFilesOf(env),
    reassertMs: env.SDEWAN_REASSERT_INTERVAL_MS,
    clock: clock.agent,
    packages: ['firewall'],
    unconfirmed: unconfirmedInMemory(),
    log: silentLogger,
  });
  const apiServer = { name: 'the API server', patienceMs: 500, connect: async () => {} };
  ended = runAgent(
    { env, kinds, kube, driver, apiServer, clock: clock.agent, log: silentLogger },
    stopping.signal,
  );
  await told('Applied', 'good');
});
afterAll(async () => {
  stopping.abort(new Error('test over'));
  await clock.until(ended);
  await coordinator.stop();
  await openwrt.stop();
  clock.close();
});

it('are those of the documentation, with the same help and labels', async () => {
  expect(undocumented(await scrape(), documentedMetrics('Agent'))).toEqual(NOTHING_UNDOCUMENTED);
});

it('rules are counted by state, and what ICN left by package', async () => {
  const states = ['Applied', 'Pending', 'Failed', 'Removed'];
  const counts = await Promise.all(states.map((state) => value('rules', { state })));
  expect(counts).toEqual([2, 1, 1, 1]);
  expect(await value('left_overs', { package: 'firewall' })).toBe(1);
  change(firewallRule('bad', {}, { generation: 2 }));
  await told('Applied', 'bad');
  expect(await value('rules', { state: 'Applied' })).toBe(3);
  expect(await value('rules', { state: 'Failed' })).toBe(0);
});

it('count each change of OpenWRT as a transaction, and have the duration of each pass', async () => {
  expect(reloads).toBe(2);
  expect(await value('transactions_total', { outcome: 'done' })).toBe(2);
  const passed = await value('passes_total', { outcome: 'passed' });
  expect(passed).toBeGreaterThanOrEqual(2);
  expect(await value('pass_seconds_count')).toBe(passed);
  expect(await value('last_pass_timestamp_seconds')).toBeGreaterThan(0);
  // Most looks find nothing to do, and are no passes.
  expect(await value('passes_total')).toBe(passed);
  change(firewallRule('refused'));
  await told('Failed: RefusedByOpenwrt', 'refused');
  expect(await value('transactions_total', { outcome: 'rejected' })).toBe(1);
  expect(await value('transactions_total', { outcome: 'done' })).toBe(2);
});

it('reports are counted as the coordinator received them', async () => {
  await clock.advance(60_000);
  const before = await scrape();
  const outcomeOf = ({ repeats, rules, gone }: Report): string => {
    if (repeats === undefined) return 'full';
    return rules.length > 0 || gone ? 'changes' : 'heartbeat';
  };
  const received = Map.groupBy(coordinator.reports, outcomeOf);
  expect([...received.keys()].sort()).toEqual(['changes', 'full', 'heartbeat']);
  const sent = (outcome: string) => valueIn(before, 'sdewan_agent_reports_total', { outcome });
  for (const [outcome, reports] of received) expect(sent(outcome)).toBe(reports.length);
  expect(sent('failed')).toBeUndefined();
  expect(valueIn(before, 'sdewan_agent_last_report_timestamp_seconds')).toBeGreaterThan(0);
});

it('drift is repaired and counted each time', async () => {
  // Refused, it would be tried again at a random time, and what is changed amid a transaction is no
  // drift.
  refuses = false;
  change(firewallRule('refused', {}, { generation: 2 }));
  await told('Applied', 'refused');
  for (let times = 1; times <= 5; times += 1) {
    openwrt.write(
      'firewall',
      openwrt.text('firewall').replace(/(sdewan_rule_good'[^]*?dest_port ')80/, '$181'),
    );
    const broken = openwrt.text('firewall');
    await clock.reach('repaired', () => openwrt.text('firewall') !== broken);
    await clock.advance(1_000);
    expect(await value('drift_repairs_total', { package: 'firewall' })).toBe(times);
  }
});

it('show an OpenWRT that does not answer until it does', async () => {
  expect(await value('openwrt_reachable')).toBe(1);
  const off = openwrt.simulator.faults.add({ action: { kind: 'reset' } });
  await clock.reach('it is told', () => !isReachable());
  expect(await value('openwrt_reachable')).toBe(0);
  expect(await value('passes_total', { outcome: 'unanswered' })).toBeGreaterThan(0);
  off();
  await clock.reach('it is told', isReachable);
  expect(await value('openwrt_reachable')).toBe(1);
});

it('count a pass that OpenWRT does not let through as hindered', async () => {
  const action = { kind: 'status', status: 9 } as const;
  openwrt.simulator.faults.add({ object: 'uci', method: 'add', times: 1, action });
  change(firewallRule('good', { dest_port: '82' }, { generation: 2 }));
  await clock.reach('in force', () => openwrt.text('firewall').includes("dest_port '82'"));
  expect(await value('passes_total', { outcome: 'hindered' })).toBe(1);
});

it('reports that no coordinator accepts are counted', async () => {
  await coordinator.stop();
  await clock.advance(60_000);
  expect(await value('reports_total', { outcome: 'failed' })).toBeGreaterThan(0);
});
