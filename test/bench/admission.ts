/**
 * What admission costs the authors of rules: `node test/bench/admission.ts [--rules 0,5000,10000]
 * [--writers 1,16] [--creates 400]`. The whole product on processes, webhooks by its Service.
 * Prints creates a second, what the API server says that each webhook took, and the CPU of each
 * program for a create; the same once more by a user whom the webhooks do not ask about, which is
 * the API server's own share. To compare two versions, give each a folder of bundled programs by
 * `SDEWAN_TEST_PROGRAMS`, and run them in turn.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createKubeClient, type KubeClient, type NewObject } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { AGENTS_FINALIZER, PURPOSE_LABEL, RULE_GROUP, RULE_VERSION } from '#shared/names.ts';
import type { Cluster } from 'kind-test-harness';
import { firewallRules } from '../integration/coordinator/rules.ts';
import { installProduct } from '../stack/install.ts';
import { apply } from '../stack/operator.ts';
import { isStatusWritten, zone } from '../stack/rules.ts';
import { startStackCluster } from '../stack/start.ts';

const { values } = parseArgs({
  options: {
    rules: { type: 'string', default: '0,5000,10000' },
    writers: { type: 'string', default: '1,16' },
    creates: { type: 'string', default: '400' },
  },
});
const numbers = (list: string): number[] => list.split(',').map(Number);
const CREATES = Number(values.creates);
const FILLERS = 48;
/** Creates whose time does not count: connections open, and code is compiled. */
const WARM_UP = 100;

/** Whom the webhooks for rules do not ask about: so that thousands are there soon. */
const CLEANER = 'system:serviceaccount:kube-system:namespace-controller';

const bodyOf = (namespace: string, index: number): NewObject => ({
  apiVersion: `${RULE_GROUP}/${RULE_VERSION}`,
  kind: 'FirewallRule',
  metadata: {
    name: `rule-${index}`,
    namespace,
    labels: { [PURPOSE_LABEL]: 'cnf-1' },
    finalizers: [AGENTS_FINALIZER],
  },
  spec: { src: 'lan1', target: 'REJECT' },
});

/** Milliseconds of each create, and of all. */
const create = async (
  client: KubeClient,
  bodies: readonly NewObject[],
  writers: number,
): Promise<{ each: number[]; all: number }> => {
  const each: number[] = [];
  let next = 0;
  const startedAt = performance.now();
  const write = async (): Promise<void> => {
    for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) {
      const from = performance.now();
      await client.create(firewallRules, body);
      each.push(performance.now() - from);
    }
  };
  await Promise.all(Array.from({ length: writers }, write));
  return { each: each.sort((one, other) => one - other), all: performance.now() - startedAt };
};

const WEBHOOK =
  /^apiserver_admission_webhook_admission_duration_seconds_(sum|count)\{.*name="([^"]+)".*\} (\S+)$/;

/** Seconds and calls so far, by webhook. */
const webhooksOf = async (
  cluster: Cluster,
): Promise<Map<string, { sum: number; count: number }>> => {
  const { stdout } = await cluster.kubectl(['get', '--raw', '/metrics']);
  const found = new Map<string, { sum: number; count: number }>();
  for (const line of stdout.split('\n')) {
    const [, what, name = '', value] = WEBHOOK.exec(line) ?? [];
    if (what !== 'sum' && what !== 'count') continue;
    const entry = found.get(name) ?? { sum: 0, count: 0 };
    entry[what] += Number(value);
    found.set(name, entry);
  }
  return found;
};

/** Milliseconds of CPU so far, by program: of this process' descendants. */
const cpuOf = (): Map<string, number> => {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const stats = new Map(
    all.flatMap((pid): [string, { parent: string; ms: number; program: string }][] => {
      try {
        const fields =
          readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
        const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        const program = PROGRAMS.find((each) => args.includes(each)) ?? 'other';
        const ms = (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
        return [[pid, { parent: fields[1] ?? '', ms, program }]];
      } catch {
        return [];
      }
    }),
  );
  const isOurs = (pid: string): boolean => {
    const parent = stats.get(pid)?.parent;
    return parent !== undefined && (parent === String(process.pid) || isOurs(parent));
  };
  const sums = new Map<string, number>();
  for (const [pid, { ms, program }] of stats)
    if (isOurs(pid)) sums.set(program, (sums.get(program) ?? 0) + ms);
  return sums.set('writers', process.cpuUsage().user / 1e3 + process.cpuUsage().system / 1e3);
};
const MS_PER_TICK = 10;
const PROGRAMS = ['kube-apiserver', 'etcd', 'coordinator/main'] as const;

/** Every rule has a status: until then the coordinator and the API server have other work. */
const settled = async (client: KubeClient, namespace: string): Promise<void> => {
  for (;;) {
    const { items } = await client.list(firewallRules, { namespace, timeoutMs: 60_000 });
    if (items.every(isStatusWritten)) return;
    await sleep(1_000);
  }
};

const main = async (): Promise<void> => {
  const cluster = await startStackCluster({ backend: 'process' });
  const config = await loadKubeConfig({ kubeconfig: cluster.kubeconfig });
  const client = createKubeClient({ config });
  const headers = async (): Promise<Record<string, string>> => ({
    ...(await config.headers()),
    'impersonate-user': CLEANER,
    'impersonate-group': 'system:masters',
  });
  const filler = createKubeClient({ config: { ...config, headers } });
  try {
    await installProduct(cluster);
    const namespace = await cluster.createNamespace('bench');
    await apply(cluster, namespace, zone('lan1', 'net1'));
    let made = 0;
    const bodies = (count: number): NewObject[] =>
      Array.from({ length: Math.max(0, count) }, () => bodyOf(namespace, made++));
    await create(client, bodies(WARM_UP), 4);
    for (const rules of numbers(values.rules)) {
      await create(filler, bodies(rules - made), FILLERS);
      for (const writers of numbers(values.writers)) {
        for (const [who, by] of [
          ['asked', client],
          ['not asked', filler],
        ] as const) {
          await settled(client, namespace);
          const before = await webhooksOf(cluster);
          const cpuBefore = cpuOf();
          const { all, each } = await create(by, bodies(CREATES), writers);
          const cpu = [...cpuOf()].map(
            ([program, ms]) =>
              `${program} ${((ms - (cpuBefore.get(program) ?? 0)) / CREATES).toFixed(1)}`,
          );
          const after = await webhooksOf(cluster);
          const tookOf = (name: string): string => {
            const [was, is] = [before.get(name), after.get(name)];
            const count = (is?.count ?? 0) - (was?.count ?? 0);
            const took = ((is?.sum ?? 0) - (was?.sum ?? 0)) / count;
            return `${name.split('.')[0]} ${count} × ${(took * 1e3).toFixed(1)} ms`;
          };
          const at = (share: number): string =>
            (each[Math.floor(share * each.length)] ?? 0).toFixed(1);
          console.log(
            `${String(rules).padStart(6)} rules, ${String(writers).padStart(2)} writers, webhooks ${who}: ` +
              `${(CREATES / (all / 1e3)).toFixed(0).padStart(4)} creates/s, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms; ` +
              ['rules.sdewan.akraino.org', 'rule-finalizers.sdewan.akraino.org']
                .map(tookOf)
                .join(', ') +
              `; CPU ms a create: ${cpu.join(', ')}; load ${loadavg()[0]?.toFixed(1)}`,
          );
        }
      }
    }
  } finally {
    await Promise.all([client.close(), filler.close()]);
    await cluster.stop();
  }
};

await main();
