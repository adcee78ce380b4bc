/**
 * How soon NetworkPolicies follow pods into the kernels of a CNF, and what it costs, on a cluster:
 * `node test/bench/policy.ts [--pods 1000] [--policies 100] [--cnfs 2] [--rate 50] [--seconds 60]
 * [--alone 0]`. From the moment at which a client asks for a change to the load of nft that has it,
 * by the journal of the device; CPU time of each program over the time of the changes. No kubelet
 * runs the pods that policies are about. `--alone`: for so many seconds before it the same changes
 * while no coordinator runs, which is what the API server takes for the changes themselves.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { createKubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { objectSchema, type ResourceType } from '#shared/kube/objects.ts';
import { groupId } from '#shared/policy/group-members.ts';
import { agentFlags } from '../stack/agent-flags.ts';
import { atOnce } from '../stack/at-once.ts';
import { createCnf } from '../stack/cnf.ts';
import { coordinatorReady } from '../stack/faults.ts';
import { installProduct } from '../stack/install.ts';
import { readJournal } from '../stack/journal.ts';
import { observePods, until } from '../stack/observe.ts';
import { apply, waitForPods } from '../stack/operator.ts';
import { setup as buildPrograms } from '../stack/programs.ts';
import { policyTableOf } from '../stack/simulator.ts';
import { parseBackend, startStackCluster } from '../stack/start.ts';

const { values } = parseArgs({
  options: {
    pods: { type: 'string', default: '1000' },
    policies: { type: 'string', default: '100' },
    cnfs: { type: 'string', default: '2' },
    rate: { type: 'string', default: '50' },
    seconds: { type: 'string', default: '60' },
    alone: { type: 'string', default: '0' },
  },
});
const PODS = Number(values.pods);
const POLICIES = Number(values.policies);
const CNFS = Number(values.cnfs);
const RATE = Number(values.rate);
const SECONDS = Number(values.seconds);
const ALONE_SECONDS = Number(values.alone);
const PURPOSE = 'cnf-1';
const SYSTEM = ['-n', 'sdewan-system'];
const COORDINATORS = 'app=sdewan-coordinator';
const SETTLES_MS = 10_000;
/** Fewer requests of one sort are not told. */
const MANY = 5;
const TICKS_PER_SECOND = 100;
const KB_PER_MB = 1_024;

const typeOf = (group: string, plural: string, kind: string): ResourceType => ({
  group,
  version: 'v1',
  plural,
  kind,
  schema: objectSchema,
});
const policyType = typeOf('networking.k8s.io', 'networkpolicies', 'NetworkPolicy');
const podType = typeOf('', 'pods', 'Pod');

const addressOf = (at: number): string => `10.${100 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}`;
/** Each lets in the pods of one role, and all pods by another port. */
const policyAt = (at: number, port = 8_080) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: `policy-${at}` },
  spec: {
    podSelector: { matchLabels: { app: `a${at}` } },
    policyTypes: ['Ingress'],
    ingress: [
      {
        from: [{ podSelector: { matchLabels: { role: `r${at}` } } }],
        ports: [{ protocol: 'TCP', port }],
      },
      { from: [{ podSelector: {} }], ports: [{ protocol: 'UDP', port: 53 }] },
    ],
  },
});

await buildPrograms();
const cluster = await startStackCluster({
  backend: parseBackend(),
  say: console.log,
  agentFlags: agentFlags(),
});
const client = createKubeClient({
  config: await loadKubeConfig({ kubeconfig: cluster.kubeconfig }),
});

const statOf = (pid: number): string[] =>
  readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
const cpuOf = (pid: number): number =>
  (Number(statOf(pid)[11]) + Number(statOf(pid)[12])) / TICKS_PER_SECOND;
const memoryOf = (pid: number): string => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [now, most] = ['VmRSS', 'VmHWM'].map((name) =>
    Math.round(Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / KB_PER_MB),
  );
  return `${now} MB (at most ${most})`;
};
const running = z.object({ pid: z.number() });
const logLine = z.object({ time: z.string(), msg: z.string(), phase: z.string().optional() });
const runningFile = (namespace: string, pod: string, container: string): string =>
  join(cluster.podDirectory(namespace, pod), 'containers', container, 'running.json');
const pidOf = (...of: [namespace: string, pod: string, container: string]): number =>
  running.parse(JSON.parse(readFileSync(runningFile(...of), 'utf8'))).pid;
/** Figures of the control plane of this cluster. */
const programPids = (program: string): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return words.includes(program) && words.join(' ').includes(dirname(cluster.kubeconfig));
      } catch {
        return false;
      }
    })
    .map(Number);

/** Requests that the API server has answered since its start, but watches, by verb and resource. */
const requestsNow = async (): Promise<ReadonlyMap<string, number>> => {
  const { stdout } = await cluster.kubectl(['get', '--raw', '/metrics']);
  const counted = new Map<string, number>();
  for (const line of stdout.split('\n')) {
    if (!line.startsWith('apiserver_request_total{')) continue;
    const labels = new Map(
      [...line.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', of = '']) => [name, of]),
    );
    if (labels.get('verb') === 'WATCH') continue;
    const of = [labels.get('resource'), labels.get('subresource')].filter(Boolean).join('/');
    const key = `${labels.get('verb')} ${of} ${labels.get('code')}`;
    counted.set(key, (counted.get(key) ?? 0) + Number(line.slice(line.lastIndexOf(' ') + 1)));
  }
  return counted;
};

const quantile = (sorted: readonly number[], part: number): number =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? NaN);

try {
  await installProduct(cluster);
  const namespace = await cluster.createNamespace('policy-bench');
  // Pods of their own, so that the CNF's pods are in no group: 5,000 pods are as many as a group
  // may have.
  const cnfNamespace = await cluster.createNamespace('policy-bench-cnf');
  const tableOf = (pod: string): Promise<string> =>
    policyTableOf(cluster, { namespace: cnfNamespace, pod });
  const roles = new Map<string, string>();
  await atOnce(
    Array.from({ length: PODS }, (_, at) => at),
    async (at) => {
      const name = `pod-${at}`;
      const role = `r${(at * 7) % POLICIES}`;
      roles.set(name, role);
      const labels = { app: `a${at % POLICIES}`, role };
      await client.create(podType, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { namespace, name, labels },
        spec: { schedulerName: 'none', containers: [{ name: 'main', image: 'none' }] },
      });
      const ip = addressOf(at);
      const body = { status: { phase: 'Running', podIP: ip, podIPs: [{ ip }] } };
      const patch = { type: 'merge', body } as const;
      await client.patch(podType, { namespace, name }, { patch, subresource: 'status' });
    },
  );
  await atOnce(
    Array.from({ length: POLICIES }, (_, at) => policyAt(at)),
    ({ metadata, ...rest }) =>
      client.create(policyType, { ...rest, metadata: { ...metadata, namespace } }),
  );
  await createCnf(cluster, {
    namespace: cnfNamespace,
    purpose: PURPOSE,
    replicas: CNFS,
    annotations: { 'sdewan.akraino.org/policy-networks': 'cluster' },
  });
  const chains = async (pod: string): Promise<number> =>
    (await tableOf(pod)).split(`comment "${namespace}/`).length - 1;
  const complete = async (pods: readonly string[]): Promise<void> => {
    await until('every policy is in each kernel', async () =>
      (await Promise.all(pods.map(chains))).every((count) => count === POLICIES) ? true : undefined,
    );
  };
  const cnfs = (await observePods(cluster, cnfNamespace, PURPOSE)).map(({ name }) => name);
  await complete(cnfs);
  await sleep(SETTLES_MS);

  type Change = { at: number; address: string; from: string; to: string };
  let changed = 0;
  /** Each pod in its turn, to other roles in each turn. */
  const changeLabels = async (during: number): Promise<Change[]> => {
    const changes: Change[] = [];
    const underWay: Promise<unknown>[] = [];
    const startedAt = performance.now();
    for (let count = 1; count <= RATE * during; count += 1, changed += 1) {
      const at = (changed * 13) % PODS;
      const name = `pod-${at}`;
      const to = `r${(changed * 31 + Math.floor(changed / PODS) + 1) % POLICIES}`;
      const from = roles.get(name) ?? '';
      if (from === to) continue;
      roles.set(name, to);
      changes.push({ at: Date.now(), address: addressOf(at), from, to });
      const patch = { type: 'merge', body: { metadata: { labels: { role: to } } } } as const;
      underWay.push(client.patch(podType, { namespace, name }, { patch }));
      await sleep(Math.max(0, startedAt + (count * 1_000) / RATE - performance.now()));
    }
    await Promise.all(underWay);
    return changes;
  };

  const server = [...programPids('kube-apiserver'), ...programPids('etcd')];
  const cpuOfAll = (pids: readonly number[]): number =>
    pids.reduce((sum, pid) => sum + cpuOf(pid), 0);
  const scaleCoordinator = (replicas: number) =>
    cluster.kubectl([
      'scale',
      'deployment/sdewan-coordinator',
      `--replicas=${replicas}`,
      ...SYSTEM,
    ]);
  if (ALONE_SECONDS > 0) {
    await scaleCoordinator(0);
    await cluster.kubectl(['wait', '--for=delete', 'pod', '-l', COORDINATORS, ...SYSTEM]);
    const before = cpuOfAll(server);
    const startedAt = performance.now();
    await changeLabels(ALONE_SECONDS);
    const share = ((cpuOfAll(server) - before) * 1_000) / (performance.now() - startedAt);
    console.log(
      `API server and etcd without a coordinator: ${share.toFixed(2)} of a core for ${RATE} label changes a second`,
    );
    await scaleCoordinator(2);
    await coordinatorReady(cluster);
    await sleep(2 * SETTLES_MS);
  }

  const coordinators = z
    .object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) })
    .parse(
      await cluster.api.find(
        `/api/v1/namespaces/sdewan-system/pods?labelSelector=${encodeURIComponent(COORDINATORS)}`,
      ),
    )
    .items.map(({ metadata }) => pidOf('sdewan-system', metadata.name, 'coordinator'));
  const agents = cnfs.map((pod) => pidOf(cnfNamespace, pod, 'sdewan-agent'));
  const programs: Record<string, number[]> = {
    'coordinators together': coordinators,
    'an agent': agents,
    'API server and etcd': server,
  };
  const cpuNow = (): Record<string, number> =>
    Object.fromEntries(Object.entries(programs).map(([name, pids]) => [name, cpuOfAll(pids)]));

  const requestsBefore = await requestsNow();
  const before = cpuNow();
  const startedAt = performance.now();
  const changes = await changeLabels(SECONDS);
  const seconds = (performance.now() - startedAt) / 1_000;
  const after = cpuNow();
  await sleep(SETTLES_MS);
  const requests = [...(await requestsNow())]
    .map(([key, count]) => [key, count - (requestsBefore.get(key) ?? 0)] as const)
    .filter(([, count]) => count > MANY)
    .sort(([, one], [, other]) => other - one);

  const setOf = (role: string): string =>
    `g_${groupId({ pods: { matchLabels: { role } }, namespaces: { name: namespace } })}_4`;
  /** Members of all groups of roles, in all kernels. */
  const wrongAtTheEnd = async (): Promise<number> => {
    const expected = new Map<string, string[]>();
    for (const [name, role] of roles)
      expected.set(setOf(role), [
        ...(expected.get(setOf(role)) ?? []),
        addressOf(Number(name.slice('pod-'.length))),
      ]);
    const tables = await Promise.all(cnfs.map((pod) => tableOf(pod)));
    return tables.reduce((sum, table) => {
      const found = [...expected].map(([set, addresses]) => {
        const [, text = ''] =
          new RegExp(`set ${set} \\{[^}]*elements = \\{([^}]*)\\}`).exec(table) ?? [];
        const has = new Set(text.match(/[\d.]+/g));
        const both = addresses.filter((address) => has.has(address)).length;
        return addresses.length + has.size - 2 * both;
      });
      return sum + found.reduce((all, one) => all + one, 0);
    }, 0);
  };
  const loadsOf = async (pod: string) => {
    const journal = await readJournal(cluster, { namespace: cnfNamespace, pod });
    return journal.flatMap(({ event, ms, ok, text }) =>
      event === 'policies' && ok && text !== undefined ? [{ ms, text }] : [],
    );
  };
  const times: number[] = [];
  let never = 0;
  for (const pod of cnfs) {
    const loads = await loadsOf(pod);
    const written = (text: string, role: string): string | undefined => {
      const set = setOf(role);
      if (!text.includes(`flush set inet sdewan_policy ${set}\n`)) return undefined;
      return new RegExp(`^add element inet sdewan_policy ${set} .*$`, 'm').exec(text)?.[0] ?? '';
    };
    const first = (from: number, role: string, is: boolean, address: string) =>
      loads.find(({ ms, text }) => {
        const line = ms >= from ? written(text, role) : undefined;
        return (
          line !== undefined &&
          (line.includes(` ${address},`) || line.includes(` ${address} `)) === is
        );
      })?.ms;
    for (const { address, at, from, to } of changes) {
      const [come, gone] = [first(at, to, true, address), first(at, from, false, address)];
      if (come === undefined || gone === undefined) never += 1;
      else times.push(Math.max(come, gone) - at);
    }
  }
  times.sort((one, other) => one - other);
  const wrong = await wrongAtTheEnd();
  const reloads = (
    await Promise.all(cnfs.map((pod) => readJournal(cluster, { namespace: cnfNamespace, pod })))
  )
    .flat()
    .filter(({ event, ms }) => event === 'reload' && ms >= (changes[0]?.at ?? 0)).length;
  console.log(
    `${changes.length} label changes, ${Math.round(changes.length / seconds)} a second, ${CNFS} CNF pods, ${PODS} pods, ${POLICIES} policies; load ${loadavg()[0]?.toFixed(1)}`,
  );
  console.log(
    `in the kernel after p50 ${quantile(times, 0.5)} ms, p99 ${quantile(times, 0.99)} ms, at most ${times.at(-1)} ms; later than a second: ${times.filter((ms) => ms > 1_000).length}; overtaken by another change of the same pod: ${never}; addresses in a wrong group at the end: ${wrong}; reloads of the firewall: ${reloads}`,
  );
  for (const [name, pids] of Object.entries(programs)) {
    const share = ((after[name] ?? 0) - (before[name] ?? 0)) / seconds;
    const each = name === 'an agent' ? share / pids.length : share;
    console.log(`${name}: ${each.toFixed(2)} of a core, ${pids.map(memoryOf).join(', ')}`);
  }
  console.log(
    `requests for the changes: ${requests.map(([key, count]) => `${count} ${key}`).join(', ')}`,
  );

  for (let turn = 1; turn <= 3; turn += 1) {
    await sleep(2_000);
    const port = 9_000 + turn;
    const at = Date.now();
    await apply(cluster, namespace, policyAt(0, port));
    const found = async (): Promise<true | undefined> => {
      const tables = await Promise.all(cnfs.map((pod) => tableOf(pod)));
      return tables.every((table) => table.includes(`dport ${port} `)) ? true : undefined;
    };
    await until('the changed policy is in each kernel', found);
    console.log(
      `one policy changed among ${POLICIES}: ${Date.now() - at} ms, kubectl's own time in it`,
    );
  }

  const scale = ['scale', `deployment/${PURPOSE}`, `--replicas=${CNFS + 1}`, '-n', cnfNamespace];
  await cluster.kubectl(scale);
  await waitForPods(cluster, cnfNamespace, PURPOSE, CNFS + 1);
  const fresh =
    (await observePods(cluster, cnfNamespace, PURPOSE)).find(({ name }) => !cnfs.includes(name))
      ?.name ?? '';
  await complete([fresh]);
  const freshPid = pidOf(cnfNamespace, fresh, 'sdewan-agent');
  const journal = await readJournal(cluster, { namespace: cnfNamespace, pod: fresh });
  const journalled = (of: string): number =>
    journal.find(({ event, ok = true }) => event === of && ok)?.ms ?? NaN;
  const startOf = (container: string): number =>
    statSync(runningFile(cnfNamespace, fresh, container)).mtimeMs;
  const agentAt = startOf('sdewan-agent');
  const { stdout } = await cluster.kubectl([
    'logs',
    fresh,
    '-c',
    'sdewan-agent',
    '-n',
    cnfNamespace,
  ]);
  const lines = stdout
    .split('\n')
    .flatMap((line) => (line ? [logLine.parse(JSON.parse(line))] : []));
  const logged = (is: (line: z.infer<typeof logLine>) => boolean): number =>
    Date.parse(lines.findLast(is)?.time ?? '');
  const steps = {
    'the agent has started': logged(({ msg }) => msg === 'agent started'),
    "the kubelet has started OpenWRT's container": startOf('sdewan'),
    'all lists are there': logged(({ phase }) => phase === 'Synced'),
    'OpenWRT has started': journalled('start'),
    'the agent is logged in': logged(({ msg }) => msg.startsWith('driver selected')),
    'the table is in the kernel': journalled('policies'),
  };
  console.log(
    `a fresh CNF pod (its agent: ${memoryOf(freshPid)}), milliseconds from its agent's start:`,
  );
  for (const [step, ms] of Object.entries(steps))
    console.log(`  ${Math.round(ms - agentAt)} ${step}`);
} finally {
  await client.close();
  await cluster.stop();
}
