/**
 * How long one changed firewall rule among many takes on a real device: from the event that tells
 * the agent's loop of it to the kernel, as `nft monitor` sees it, and to the end of the pass; with
 * the CPU of agent and device for each. `node test/bench/one-change.ts --url U --inside CMD
 * [--rules 1000] [--changes 15] [--kubeconfig FILE]`, where CMD starts a program in the device. It
 * uses the login `sdewan` of test/openwrt/device, and needs the device for itself. With a
 * kubeconfig (`npx kind-test-harness up` prints one) each change is watched by commit-confirm, as
 * in a pod; without one it is off.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { loadKubeConfig } from '#shared/kube/config.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import {
  createCommitConfirm,
  type CommitConfirm,
  type CommitConfirmDeps,
} from '../../agent/commit-confirm/commit-confirm.ts';
import { openRecord } from '../../agent/commit-confirm/record.ts';
import { apiServerAt, createTargets } from '../../agent/commit-confirm/reachability.ts';
import { cr, zone } from '../contract/agent/support/pass.ts';
import { onDevice } from '../contract/conformance/stage.ts';

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    inside: { type: 'string' },
    rules: { type: 'string', default: '1000' },
    changes: { type: 'string', default: '15' },
    kubeconfig: { type: 'string' },
  },
});
const { url = '', inside = '', kubeconfig } = values;
/** Until the next change, so that the loop's pace holds none up. */
const BETWEEN_CHANGES_MS = 4_000;
const PATIENCE_MS = 60_000;
const LOOK_MS = 2;

const [program = '', ...args] = inside.split(' ');
const run = (input: string): string =>
  execFileSync(program, [...args, 'sh'], { input, encoding: 'utf8' });

/**
 * Milliseconds of CPU of the device's programs so far, those that have ended as well. Not of our
 * monitor, whose output is what we look at.
 */
const deviceCpu = (): number => {
  const lines = run('cat /proc/[0-9]*/stat 2>/dev/null; true').split('\n');
  const ticks = lines.flatMap((line) => {
    const [, name = '', rest = ''] = /\((.*)\) (.*)$/.exec(line) ?? [];
    const fields = rest.split(' ').map(Number);
    return ['nft', 'sh', 'cat', ''].includes(name) ? [] : fields.slice(11, 15);
  });
  return ticks.reduce((sum, one) => sum + one, 0) * MS_PER_TICK;
};
const MS_PER_TICK = 10;
const agentCpu = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

/** When the kernel last told of a rule of nft that has come. */
let inKernelAt = 0;
/**
 * Ends with its input: a signal would reach the program that has started it in the device, and not
 * it.
 */
const MONITOR = 'nft monitor new rules & cat >/dev/null; kill $!';
const monitor = spawn(program, [...args, 'sh', '-c', MONITOR], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
monitor.stdout.on('data', (text: Buffer) => {
  // Rules of a table that no packet comes to are not what is waited for.
  if (text.includes(' inet fw4 ')) inKernelAt = performance.now();
});

const rule = (at: number, port: number): RuleObject => {
  const options = {
    src: 'lan1',
    proto: 'tcp',
    src_ip: `10.${at >> 8}.${at & 255}.0/24`,
    dest_port: String(port),
    target: 'ACCEPT',
  };
  return cr('FirewallRule', `bench-${at}`, options);
};

const folder = mkdtempSync(path.join(tmpdir(), 'sdewan-bench-'));
const passwordFile = path.join(folder, 'password');
writeFileSync(passwordFile, 'sdewan', { mode: 0o600 });

const watching = new AbortController();
const watched: { commitConfirm?: CommitConfirm } = {};
const commitConfirmIn = async (
  folderOfAgent: string,
): Promise<(driver: CommitConfirmDeps['driver']) => CommitConfirm> => {
  const apiServer = apiServerAt(
    await loadKubeConfig(kubeconfig === undefined ? {} : { kubeconfig }),
  );
  const record = await openRecord(path.join(folderOfAgent, 'commit-confirm.json'), silentLogger);
  return (driver) =>
    (watched.commitConfirm = createCommitConfirm({
      file: record,
      targets: createTargets([apiServer], systemClock),
      decisive: [apiServer],
      isOutage: async () => false,
      deadlineMs: 30_000,
      purpose: 'cnf-1',
      driver,
      onChange: () => agent.mark(),
      clock: systemClock,
      log: silentLogger,
    }));
};
const stage = await onDevice(
  { url, user: 'sdewan', passwordFile, api: 'ubus', inside: run },
  kubeconfig === undefined ? undefined : commitConfirmIn,
);
const watch = watched.commitConfirm?.run(watching.signal);

const rules = [
  zone('lan1', 'ovn-net1'),
  ...Array.from({ length: Number(values.rules) }, (_, at) => rule(at, 80)),
];
let now: readonly RuleObject[] = rules;
const agent = stage.pass.follow(() => now);

/** The agent has been told of these, and all that it says is of them. */
const bring = async (next: readonly RuleObject[], reason = 'Applied'): Promise<number> => {
  const before = stage.pass.transactions().length;
  now = next;
  agent.mark();
  const patience = AbortSignal.timeout(PATIENCE_MS);
  const isOver = (): boolean =>
    stage.pass.transactions().length > before &&
    stage.pass.reports().every((report) => report.reason === reason);
  while (!isOver()) {
    if (patience.aborted) throw new Error(JSON.stringify(stage.pass.reports().slice(0, 3)));
    await sleep(LOOK_MS);
  }
  return performance.now();
};

type Took = { kernel: number; end: number };
const cpu = { agent: 0, device: 0 };
try {
  await bring(rules);
  const took: Took[] = [];
  for (let change = 1; change <= Number(values.changes); change += 1) {
    await sleep(BETWEEN_CHANGES_MS);
    const at = 1 + ((change * 37) % (rules.length - 1));
    rules[at] = rule(at - 1, 1000 + change);
    const before = { agent: agentCpu(), device: deviceCpu() };
    const from = performance.now();
    const end = await bring([...rules]);
    cpu.agent += agentCpu() - before.agent;
    cpu.device += deviceCpu() - before.device;
    took.push({ kernel: inKernelAt - from, end: end - from });
  }
  const shown = (part: keyof Took): string => {
    const sorted = took.map((each) => each[part]).sort((a, b) => a - b);
    const at = (share: number): string =>
      (sorted[Math.floor(share * sorted.length)] ?? 0).toFixed(0);
    return `least ${at(0)}, p50 ${at(0.5)}, p90 ${at(0.9)}, p99 ${at(0.99)} ms`;
  };
  const each = (ms: number): string => `${(ms / took.length).toFixed(0)} ms`;
  console.log(
    `${values.rules} rules, one changed: to the kernel ${shown('kernel')}; to the end ${shown('end')}; ` +
      `CPU of the agent ${each(cpu.agent)}, of the device ${each(cpu.device)}; ` +
      `${kubeconfig === undefined ? 'not watched' : 'watched'}; ${stage.pass.driver.firewallWays?.()?.amended} of ${took.length} without a reload; load ${loadavg()[0]?.toFixed(1)}`,
  );
} finally {
  const deletionTimestamp = '2026-01-02T00:00:00Z';
  const gone = now.map((one) => ({ ...one, metadata: { ...one.metadata, deletionTimestamp } }));
  await bring(gone, 'Removed');
  await agent.stop();
  watching.abort();
  await watch;
  await stage.leave();
  monitor.stdin.end();
  rmSync(folder, { recursive: true });
}
