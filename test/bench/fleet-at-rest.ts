/**
 * What CNFDeployments at rest cost the coordinators: `node test/bench/fleet-at-rest.ts [--fleets
 * 100] [--replicas 1] [--minutes 2]`, first with counters that stay as they are, then with others
 * in each minute. CPU of each coordinator, and by the API server's audit log what they write. Pods
 * run nowhere: a node of this program says that they do, and reports are those of the agent,
 * without rules.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { createKubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { resourceV1 } from '#shared/kube/objects.ts';
import { COORDINATOR_CA_CONFIG_MAP, PURPOSE_LABEL } from '#shared/names.ts';
import type { Counters } from '#shared/protocol/counters.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createOrderCheck } from '../../agent/report/answered-fields.ts';
import { createBoot } from '../../agent/report/boot.ts';
import { createChangeLog } from '../../agent/report/change-times.ts';
import { createReportClient } from '../../agent/report/client.ts';
import { createCountersSource } from '../../agent/report/counters.ts';
import { createPublisher } from '../../agent/report/publish.ts';
import { mayRoll } from '../e2e/fleet/cnf.ts';
import { setPodState, tokenFor } from '../integration/coordinator/pods.ts';
import { podsPath } from '../stack/collections.ts';
import { installProduct } from '../stack/install.ts';
import { until } from '../stack/observe.ts';
import { apply } from '../stack/operator.ts';
import { startAudited } from './audited.ts';

const { values } = parseArgs({
  options: {
    fleets: { type: 'string', default: '100' },
    replicas: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '2' },
  },
});
const [FLEETS, REPLICAS] = [Number(values.fleets), Number(values.replicas)];
const MS = Number(values.minutes) * 60_000;
const NODE = 'light';
/** Words that have changed are written after a minute at the latest. */
const QUIET_MS = 70_000;
/** Tokens are asked for by kubectl. */
const AT_ONCE = 4;
const MS_PER_TICK = 10;

const podSchema = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    uid: z.string(),
    labels: z.record(z.string(), z.string()),
  }),
  status: z.object({ podIP: z.string().optional() }).default({}),
});
type Pod = z.infer<typeof podSchema>;
const listSchema = z.object({ items: z.array(podSchema) });
const caSchema = z.object({ data: z.record(z.string(), z.string()) });

const { cluster, journal, stop } = await startAudited();
const client = createKubeClient({
  config: await loadKubeConfig({ kubeconfig: cluster.kubeconfig }),
});
const folder = await mkdtemp(path.join(tmpdir(), 'sdewan-bench-'));
const caFile = path.join(folder, 'ca.crt');
const over = new AbortController();
/** What the agents count: nothing else, or more with each look. */
let traffic = 0;

/** Kept healthy for the node controller, which would take its pods. */
const runNode = async (): Promise<void> => {
  const nodes = resourceV1('', 'nodes', 'Node');
  const leases = resourceV1('coordination.k8s.io', 'leases', 'Lease');
  const key = { namespace: undefined, name: NODE };
  const lease = { namespace: 'kube-node-lease', name: NODE };
  await client.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
  const apiVersion = 'coordination.k8s.io/v1';
  await client.create(leases, { apiVersion, kind: 'Lease', metadata: lease });
  const beat = async (): Promise<void> => {
    const time = new Date().toISOString();
    const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime: time }];
    const patch = { type: 'merge' as const, body: { status: { conditions } } };
    await client.patch(nodes, key, { patch, subresource: 'status' });
    const spec = { renewTime: time.replace('Z', '000Z'), leaseDurationSeconds: 40 };
    await client.patch(leases, lease, { patch: { type: 'merge', body: { spec } } });
  };
  await beat();
  const goOn = async (): Promise<void> => {
    for (;;) {
      await sleep(10_000, undefined, { signal: over.signal });
      await beat();
    }
  };
  void goOn().catch(() => undefined);
};

const podsAt = async (namespace: string, query = ''): Promise<Pod[]> =>
  listSchema.parse(await cluster.api.find(`${podsPath(namespace)}${query}`)).items;

const countersNow = (): Counters['interfaces'] => {
  const bytes = traffic === 0 ? 0 : (traffic += 1);
  const none = { rxPackets: 0, rxDropped: 0, txBytes: 0, txPackets: 0, txDropped: 0 };
  return ['eth0', 'net0', 'net1', 'net2'].map((name) => ({ name, rxBytes: bytes, ...none }));
};

/** Reports as an agent without rules does, to each coordinator. */
const report = async ({ metadata }: Pod, urls: readonly URL[]): Promise<void> => {
  const { name, namespace, uid, labels } = metadata;
  const tokenFile = path.join(folder, uid);
  await writeFile(tokenFile, await tokenFor({ cluster }, { metadata }), { mode: 0o600 });
  let sequence = 0;
  let distance: number | undefined;
  const usual = { clock: systemClock, log: silentLogger };
  const counters = createCountersSource({
    ...usual,
    devices: async () => countersNow(),
    denied: () => [],
  });
  void counters.run(over.signal);
  const common = {
    ...usual,
    snapshot: () => ({
      openwrt: { reachable: true, driver: 'ubus', message: '', driftRepairs: 0 } as const,
      unwatchedKinds: [],
      rules: [],
      information: undefined,
      doubt: '',
      verified: undefined,
      drifts: [],
      fleet: distance === undefined ? {} : { distance },
    }),
    boot: createBoot(),
    startedAt: Date.now(),
    nextSequence: () => (sequence += 1),
    purpose: labels[PURPOSE_LABEL] ?? '',
    heartbeatMs: 10_000,
    isOrder: createOrderCheck(systemClock),
    changes: createChangeLog(systemClock),
    counters: counters.current,
    onCommentsReported: async () => {},
    onOrder: (order: { distance: number }) => {
      distance = order.distance;
    },
    onSent: () => {},
  };
  const serverName = 'sdewan-coordinator.sdewan-system.svc';
  for (const url of urls) {
    const target = { url, serverName, others: () => urls.length - 1 };
    const at = { target, caFile, tokenFile, namespace, pod: name, clock: systemClock };
    void createPublisher({ ...common, client: createReportClient(at) }).run(over.signal);
  }
};

const cnfDeployment = (name: string) => ({
  apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
  kind: 'CNFDeployment',
  metadata: { name },
  spec: {
    replicas: REPLICAS,
    selector: { matchLabels: { [PURPOSE_LABEL]: name } },
    template: {
      metadata: { labels: { [PURPOSE_LABEL]: name } },
      spec: {
        nodeName: NODE,
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'sdewan', image: 'none' }],
      },
    },
  },
});

/** CPU seconds by pid: coordinators of this program's cluster, others may run on the machine. */
const usedByCoordinators = (): Map<string, number> => {
  const isOurs = (pid: string): boolean => {
    const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
    return parent === String(process.pid) || (parent !== '0' && isOurs(parent));
  };
  const used = (pid: string): [string, number][] => {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, 3);
      if (!line.some((word) => word.includes('coordinator')) || !isOurs(pid)) return [];
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
      return [[pid, ((Number(fields[11]) + Number(fields[12])) * MS_PER_TICK) / 1_000]];
    } catch {
      return [];
    }
  };
  return new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap(used),
  );
};

const settle = async (): Promise<void> => {
  let last = { count: NaN, at: performance.now() };
  while (performance.now() - last.at < QUIET_MS) {
    await sleep(5_000);
    const count = journal().length;
    if (count !== last.count) last = { count, at: performance.now() };
  }
};

const measure = async (what: string): Promise<void> => {
  const [begunAt, before] = [Date.now(), usedByCoordinators()];
  await sleep(MS);
  const shares = [...usedByCoordinators()].map(
    ([pid, now]) => `${(((now - (before.get(pid) ?? NaN)) / (MS / 1_000)) * 100).toFixed(2)} %`,
  );
  const written = journal().filter(({ at }) => at >= begunAt);
  const resources = Map.groupBy(written, ({ resource, code }) => `${resource} ${code}`);
  const counted = [...resources].map(([resource, all]) => `${all.length} of ${resource}`);
  const apart = [...Map.groupBy(written, ({ resource, name }) => `${resource} ${name}`).values()]
    .flatMap((all) => all.slice(1).map(({ at }, index) => at - (all[index]?.at ?? NaN)))
    .toSorted((one, other) => one - other);
  console.log(
    `${what}: coordinators ${shares.join(' and ')} of a core; in ${MS / 1_000} s ${counted.join(', ') || 'nothing'} written, two writes of an object ${apart[0] ?? '-'} ms apart at least; load ${loadavg()[0]?.toFixed(1)}`,
  );
};

try {
  await installProduct(cluster);
  await runNode();
  const namespace = await cluster.createNamespace('rest');
  const names = Array.from({ length: FLEETS }, (_, index) => `cnf-${index}`);
  await apply(cluster, namespace, mayRoll, ...names.map(cnfDeployment));
  // A namespace has it as soon as there is a CNF.
  const ca = await until('the CA is published', async () => {
    const found = await cluster.api
      .find(`/api/v1/namespaces/${namespace}/configmaps/${COORDINATOR_CA_CONFIG_MAP}`)
      .catch(() => undefined);
    return caSchema.safeParse(found).data?.data['ca.crt'];
  });
  await writeFile(caFile, ca);
  const pods = await until('all pods are there', async () => {
    const found = await podsAt(namespace);
    return found.length === FLEETS * REPLICAS ? found : undefined;
  });
  const system = await podsAt('sdewan-system', '?labelSelector=app%3Dsdewan-coordinator');
  const urls = system.map(({ status }) => new URL(`https://${status.podIP}:8443`));
  const queue = pods.values();
  const serve = async (): Promise<void> => {
    for (const pod of queue) {
      await setPodState({ client }, pod, {});
      await report(pod, urls);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, serve));
  console.log(`${FLEETS} CNFDeployments of ${REPLICAS} pods report`);
  await settle();
  await measure('counters stay as they are');
  traffic = 1;
  await sleep(QUIET_MS);
  await measure('each counter is another in each minute');
} finally {
  over.abort();
  await client.close();
  await stop();
  await rm(folder, { recursive: true, force: true });
}
