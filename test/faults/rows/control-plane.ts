/** What the product stands on: the API server, etcd, and the connections to them. */
import { cpSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { Cluster, ControlPlaneProgram } from 'kind-test-harness';
import { ruleCollections } from '../../stack/collections.ts';
import type { Row } from '../row.ts';
import type { Side } from '../surroundings.ts';
import type { Fixture } from '../fixture.ts';

/** Where the harness keeps the control plane's data and pid files. */
const folderOf = ({ kubeconfig }: Cluster): string =>
  path.join(path.dirname(kubeconfig), 'control-plane');

const kindsIn = async ({ api }: Cluster) => ruleCollections(api, 'default');

/**
 * It answers for its own resources some time before it does for those of CRDs, and lists each of
 * them only once it has read them.
 */
const isServing = async (cluster: Cluster, kinds: number): Promise<boolean> => {
  try {
    const found = await cluster.api.find('/api/v1/namespaces/default');
    const collections = await kindsIn(cluster);
    await Promise.all(collections.map(({ path: each }) => cluster.api.find(each)));
    return found !== undefined && collections.length >= kinds;
  } catch {
    return false;
  }
};

const untilServing = async (cluster: Cluster, kinds = 1): Promise<void> => {
  for (let left = 300; !(await isServing(cluster, kinds)); left -= 1) {
    if (left === 0) throw new Error('the API server does not come back');
    await sleep(200);
  }
};

/** One that is down just now is not hit. */
const kill = (cluster: Cluster, program: ControlPlaneProgram): Promise<void> =>
  cluster.signalControlPlane(program, 'SIGKILL').catch(() => undefined);

const kills =
  (program: ControlPlaneProgram, times: number): Row['run'] =>
  async ({ cluster }, random) => {
    for (let killed = 0; killed < times; killed += 1) {
      await sleep(random.int(2_000));
      await kill(cluster, program);
      await untilServing(cluster);
    }
  };

const stands =
  (program: ControlPlaneProgram, ms: number): Row['run'] =>
  async ({ cluster, checks }) => {
    const from = Date.now();
    await cluster.signalControlPlane(program, 'SIGSTOP');
    await sleep(ms);
    await cluster.signalControlPlane(program, 'SIGCONT');
    checks.stoodStill(from, Date.now());
    await untilServing(cluster);
  };

/**
 * It is started a second after it was killed, and needs three to serve: killed so often, it is
 * never there.
 */
const STARTS_MS = 1_500;

const away =
  (ms: number): Row['run'] =>
  async ({ cluster }) => {
    for (const end = performance.now() + ms; performance.now() < end;) {
      await kill(cluster, 'kube-apiserver');
      await sleep(STARTS_MS);
    }
    await untilServing(cluster);
  };

const headerSchema = z.object({ header: z.object({ revision: z.string() }) });

/** etcd's own API, as `etcdctl` uses it. */
const etcd = async (cluster: Cluster, call: string, body: object): Promise<unknown> => {
  const pid = readFileSync(path.join(folderOf(cluster), 'etcd.pid'), 'utf8').trim();
  const url = /--listen-client-urls=([^\0]+)/.exec(
    readFileSync(`/proc/${pid}/cmdline`, 'utf8'),
  )?.[1];
  const response = await fetch(`${url}/v3/kv/${call}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`etcd ${call}: ${text}`);
  return JSON.parse(text);
};

const COMPACT_EVERY_MS = 300;

/** Everything but the present is forgotten, again and again, and who watches has to begin anew. */
const compacted: Row['run'] = async ({ cluster, surroundings }) => {
  const key = Buffer.from('/').toString('base64');
  let last: string | undefined;
  for (let round = 0; round < 20; round += 1) {
    const { header } = headerSchema.parse(await etcd(cluster, 'range', { key }));
    const { revision } = header;
    // Etcd refuses to compact again where nothing was written since.
    if (revision !== last) await etcd(cluster, 'compaction', { revision, physical: true });
    last = revision;
    if (round % 5 === 0) surroundings.proxy('agent').cut();
    if (round % 5 === 2) surroundings.proxy('coordinator').cut();
    await sleep(COMPACT_EVERY_MS);
  }
};

const BETWEEN_SNAPSHOT_AND_RESTORE_MS = 6_000;
/**
 * What was written since the snapshot is forgotten, and the numbers of versions go back, as with a
 * restored copy of the disk. Kubernetes asks to restart the clients of an etcd that was restored
 * so: a watch from a version that is yet to come says nothing.
 */
const restored: Row['run'] = async (fixture) => {
  const { cluster, checks } = fixture;
  const folder = folderOf(cluster);
  const { length: kinds } = await kindsIn(cluster);
  const [data, copy, old] = ['etcd', 'etcd-copy', 'etcd-old'].map((name) =>
    path.join(folder, name),
  );
  if (data === undefined || copy === undefined || old === undefined) return;
  for (const stale of [copy, old]) rmSync(stale, { recursive: true, force: true });
  await cluster.signalControlPlane('etcd', 'SIGSTOP');
  cpSync(data, copy, { recursive: true });
  await cluster.signalControlPlane('etcd', 'SIGCONT');
  await sleep(BETWEEN_SNAPSHOT_AND_RESTORE_MS);
  // The harness starts both again after a second: the folders are exchanged before.
  await kill(cluster, 'etcd');
  await kill(cluster, 'kube-apiserver');
  renameSync(data, old);
  renameSync(copy, data);
  const before = checks.violations();
  if (before.length > 0) throw new Error(before.join('\n'));
  await untilServing(cluster, kinds);
  await checks.beginAnew();
  const clients = [...(await fixture.targets('agent')), ...(await fixture.targets('coordinator'))];
  await Promise.all(clients.map((target) => cluster.killContainer(target, 'SIGKILL')));
};

const halfOpen =
  (side: Side): Row['run'] =>
  async ({ surroundings }: Fixture) => {
    surroundings.proxy(side).freeze();
    await sleep(3_000);
  };

export const controlPlane: readonly Row[] = [
  {
    id: 'api-server-killed',
    fault: 'API server killed -9, 3 times',
    holds: '',
    boundMs: 45_000,
    takesSeconds: 40,
    run: kills('kube-apiserver', 3),
  },
  {
    id: 'api-server-stands-10s',
    fault: 'API server stands still for 10 s',
    holds: '',
    boundMs: 60_000,
    takesSeconds: 35,
    run: stands('kube-apiserver', 10_000),
  },
  {
    id: 'api-server-away-30s',
    fault: 'API server away for 30 s',
    holds: '',
    boundMs: 60_000,
    takesSeconds: 60,
    isLong: true,
    run: away(30_000),
  },
  {
    id: 'api-server-away-120s',
    fault: 'API server away for 2 minutes',
    holds: '',
    boundMs: 60_000,
    takesSeconds: 160,
    isLong: true,
    run: away(120_000),
  },
  {
    id: 'etcd-killed',
    fault: 'etcd killed -9, 3 times',
    holds: '',
    boundMs: 45_000,
    takesSeconds: 40,
    run: kills('etcd', 3),
  },
  {
    id: 'etcd-stands-10s',
    fault: 'etcd stands still for 10 s',
    holds: '',
    boundMs: 60_000,
    takesSeconds: 35,
    run: stands('etcd', 10_000),
  },
  {
    id: 'etcd-compacted',
    fault: 'etcd compacted to the present 20 times in 6 s, connections cut meanwhile',
    holds: '',
    boundMs: 30_000,
    takesSeconds: 25,
    run: compacted,
  },
  {
    id: 'agents-half-open',
    fault: "agents' connections to the API server are half-open: no data, no reset",
    holds: '',
    boundMs: 90_000,
    takesSeconds: 50,
    run: halfOpen('agent'),
  },
  {
    id: 'coordinators-half-open',
    fault: "coordinators' connections to the API server are half-open",
    holds: '',
    boundMs: 90_000,
    takesSeconds: 50,
    run: halfOpen('coordinator'),
  },
  {
    id: 'etcd-restored',
    fault:
      'etcd restored from a copy that is 6 s old: versions go back; then agents and coordinators are restarted, as Kubernetes asks for',
    holds: '',
    boundMs: 90_000,
    takesSeconds: 90,
    leavesRuins: true,
    run: restored,
  },
];
