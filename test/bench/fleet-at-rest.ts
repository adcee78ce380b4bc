/**
 * What CNFDeployments at rest cost the coordinators: `node test/bench/fleet-at-rest.ts [--fleets 100] [--minutes 2]`, three pods each. The same pods
 * are there first as those of Deployments, whose agents report every ten seconds, and then as those of CNFDeployments: CPU and memory of each
 * coordinator, and by the API server's audit log what they write. Pods run nowhere: a node of this program says that they do, and reports
 * are those of the agent, without rules.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { KubeObject } from 'kind-test-harness';
import * as z from 'zod';
import { createKubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { resourceV1 } from '#shared/kube/objects.ts';
import { COORDINATOR_CA_CONFIG_MAP, PURPOSE_LABEL } from '#shared/names.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createOrders } from '../../agent/report/asides.ts';
import { createChangeLog } from '../../agent/report/change-times.ts';
import { createBoot } from '../../agent/report/boot.ts';
import { createReportClient } from '../../agent/report/client.ts';
import { createPublisher } from '../../agent/report/publish.ts';
import { mayRoll } from '../fleet/cnf.ts';
import { setPodState, tokenFor } from '../integration/coordinator/pods.ts';
import { podsPath } from '../stack/collections.ts';
import { installProduct } from '../stack/install.ts';
import { until } from '../stack/observe.ts';
import { apply } from '../stack/operator.ts';
import { startAudited, total } from './audited.ts';
import { usageOf } from './usage.ts';

const { values } = parseArgs({
  options: {
    fleets: { type: 'string', default: '100' },
    minutes: { type: 'string', default: '2' },
  },
});
const FLEETS = Number(values.fleets);
const MS = Number(values.minutes) * 60_000;
const REPLICAS = 3;
const NODE = 'light';
const SYSTEM = 'sdewan-system';
const QUIET_MS = 70_000;
/** Tokens are asked for by kubectl. */
const AT_ONCE = 4;

const podSchema = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    uid: z.string(),
    labels: z.record(z.string(), z.string()),
    deletionTimestamp: z.string().optional(),
  }),
  status: z.object({ podIP: z.string().optional() }).default({}),
});
const coordinatorsSchema = z.object({ items: z.array(podSchema) });
const caSchema = z.object({ data: z.record(z.string(), z.string()) });

const { cluster, writes, journal, stop } = await startAudited();
const client = createKubeClient({
  config: await loadKubeConfig({ kubeconfig: cluster.kubeconfig }),
});
const folder = await mkdtemp(path.join(tmpdir(), 'sdewan-bench-'));
const over = new AbortController();

/** Kept healthy for the node controller, which would take its pods. */
const runNode = async (): Promise<void> => {
  const nodes = resourceV1('', 'nodes', 'Node');
  const leases = resourceV1('coordination.k8s.io', 'leases', 'Lease');
  const key = { namespace: undefined, name: NODE };
  await client.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
  const lease = { namespace: 'kube-node-lease', name: NODE };
  const apiVersion = 'coordination.k8s.io/v1';
  await client.create(leases, { apiVersion, kind: 'Lease', metadata: lease });
  const beat = async (): Promise<void> => {
    const time = new Date().toISOString();
    const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime: time }];
    await client.patch(nodes, key, {
      patch: { type: 'merge', body: { status: { conditions } } },
      subresource: 'status',
    });
    const spec = { renewTime: time.replace('Z', '000Z'), leaseDurationSeconds: 40 };
    await client.patch(leases, lease, { patch: { type: 'merge', body: { spec } } });
  };
  await beat();
  void (async () => {
    for (;;) {
      await sleep(10_000, undefined, { signal: over.signal });
      await beat();
    }
  })().catch(() => undefined);
};

const coordinatorUrls = async (): Promise<URL[]> => {
  const { items } = coordinatorsSchema.parse(
    await cluster.api.find(`${podsPath(SYSTEM)}?labelSelector=app%3Dsdewan-coordinator`),
  );
  return items.map(({ status }) => new URL(`https://${status.podIP}:8443`));
};

/** Reports as an agent without rules does, to each coordinator, until the signal aborts. */
const report = async (
  { name, namespace, uid, labels }: z.infer<typeof podSchema>['metadata'],
  { urls, caFile, signal }: { urls: readonly URL[]; caFile: string; signal: AbortSignal },
): Promise<void> => {
  const tokenFile = path.join(folder, uid);
  const pod = { metadata: { name, namespace, uid } };
  await writeFile(tokenFile, await tokenFor({ cluster }, pod), { mode: 0o600 });
  let sequence = 0;
  let distance: number | undefined;
  const boot = createBoot();
  const isOrder = createOrders(systemClock);
  const changes = createChangeLog(systemClock);
  for (const url of urls) {
    const target = {
      url,
      serverName: 'sdewan-coordinator.sdewan-system.svc',
      others: () => urls.length - 1,
    };
    const publisher = createPublisher({
      snapshot: () => ({
        openwrt: { reachable: true, driver: 'ubus', message: '', driftRepairs: 0 },
        unwatchedKinds: [],
        rules: [],
        doubt: '',
        verified: undefined,
        drifts: [],
        fleet: distance === undefined ? {} : { distance },
      }),
      client: createReportClient({
        target,
        caFile,
        tokenFile,
        namespace,
        pod: name,
        clock: systemClock,
      }),
      boot,
      startedAt: Date.now(),
      nextSequence: () => (sequence += 1),
      purpose: labels[PURPOSE_LABEL] ?? '',
      heartbeatMs: 10_000,
      clock: systemClock,
      isOrder,
      changes,
      onCommentsReported: async () => {},
      onOrder: (order) => {
        distance = order.distance;
      },
      onSent: () => {},
      log: silentLogger,
    });
    void publisher.run(signal);
  }
};

const template = (purpose: string) => ({
  metadata: { labels: { [PURPOSE_LABEL]: purpose } },
  spec: {
    nodeName: NODE,
    tolerations: [{ operator: 'Exists' }],
    containers: [{ name: 'sdewan', image: 'none' }],
  },
});
const specOf = (purpose: string) => ({
  replicas: REPLICAS,
  selector: { matchLabels: { [PURPOSE_LABEL]: purpose } },
  template: template(purpose),
});
const deployment = (name: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: specOf(name),
});
const cnfDeployment = (name: string) => ({
  apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
  kind: 'CNFDeployment',
  metadata: { name },
  spec: specOf(name),
});

/** Words that have changed are written after a minute at the latest. */
const settle = async (): Promise<void> => {
  let last = { count: NaN, at: performance.now() };
  while (performance.now() - last.at < QUIET_MS) {
    await sleep(5_000);
    const { writes: count } = total(writes());
    if (count !== last.count) last = { count, at: performance.now() };
  }
};

/** What it costs with that many workloads of this kind. */
const measure = async (
  what: string,
  workload: (name: string) => object,
  count: number,
): Promise<void> => {
  const namespace = await cluster.createNamespace('rest');
  const ending = new AbortController();
  const signal = AbortSignal.any([over.signal, ending.signal]);
  const caFile = path.join(folder, 'ca.crt');
  const urls = await coordinatorUrls();
  const seen = new Set<string>();
  const queue: z.infer<typeof podSchema>[] = [];
  let reporting = 0;
  await cluster.api.watch<KubeObject>(podsPath(namespace), {
    onChange: (object) => {
      const pod = podSchema.parse(object);
      if (seen.has(pod.metadata.uid)) return;
      seen.add(pod.metadata.uid);
      queue.push(pod);
    },
    onDelete: () => {},
  });
  const serve = async (): Promise<void> => {
    while (!signal.aborted) {
      const next = queue.shift();
      if (next === undefined) {
        await sleep(100);
        continue;
      }
      await setPodState({ client }, next, {});
      await report(next.metadata, { urls, caFile, signal });
      reporting += 1;
    }
  };
  const names = Array.from({ length: count }, (_, index) => `cnf-${index}`);
  await apply(cluster, namespace, mayRoll, ...names.map(workload));
  // A namespace has it as soon as there is a CNF.
  const ca = await until('the CA is published', 60_000, async () => {
    const found = await cluster.api
      .find(`/api/v1/namespaces/${namespace}/configmaps/${COORDINATOR_CA_CONFIG_MAP}`)
      .catch(() => undefined);
    return caSchema.safeParse(found).data?.data['ca.crt'];
  });
  await writeFile(caFile, ca);
  for (let one = 0; one < AT_ONCE; one += 1) void serve();
  await until('each pod reports', 900_000, async () =>
    reporting === count * REPLICAS ? true : undefined,
  );
  await settle();
  const begunAt = Date.now();
  const before = { used: usageOf('coordinator'), writes: writes() };
  await sleep(MS);
  const used = usageOf('coordinator');
  const after = writes();
  const shares = used.map(({ pid, cpuSeconds, mebibytes }) => {
    const was = before.used.find((each) => each.pid === pid)?.cpuSeconds ?? NaN;
    return `${(((cpuSeconds - was) / (MS / 1_000)) * 100).toFixed(1)} % of a core, ${mebibytes} MiB`;
  });
  const [then, now] = [total(before.writes), total(after)];
  console.log(
    `${what}: coordinators ${shares.join('; ')}; ${now.writes - then.writes} writes and ${now.events - then.events} Events in ${MS / 1_000} s; load ${loadavg()[0]?.toFixed(1)}`,
  );
  for (const { at, verb, resource, name, fields } of journal())
    if (at >= begunAt) console.log(`${verb} ${resource} ${name}: ${fields.join(' ')}`);
  ending.abort();
  await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  // No kubelet ends them.
  await until('its pods are gone', 120_000, async () => {
    const force = ['--all', '-n', namespace, '--force', '--grace-period=0', '--wait=false'];
    await cluster.kubectl(['delete', 'pods', ...force], { allowFailure: true });
    const { items } = coordinatorsSchema.parse(await cluster.api.find(podsPath(namespace)));
    return items.length === 0 ? true : undefined;
  });
};

try {
  await installProduct(cluster);
  await runNode();
  await measure(`${FLEETS} Deployments of ${REPLICAS} pods`, deployment, FLEETS);
  await measure(`${FLEETS} CNFDeployments of ${REPLICAS} pods`, cnfDeployment, FLEETS);
} finally {
  over.abort();
  await client.close();
  await stop();
  await rm(folder, { recursive: true, force: true });
}
