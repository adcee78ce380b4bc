/**
 * The nine pods of the cases as containers of a real node, whose packets to each other go by way of
 * a CNF's pod. What the agent has OpenWRT load by rpcd decides about them. It is a real OpenWRT
 * where one is built; the simulated one has no kernel, so nft loads the same text into that of the
 * pod's own network.
 */
import { buildDeviceImage, whyNoDeviceImage } from '../../../deploy/images/device.ts';
import { createCnf } from '../../../stack/cnf.ts';
import { readJournal } from '../../../stack/journal.ts';
import { until } from '../../../stack/observe.ts';
import { apply, waitForPods } from '../../../stack/operator.ts';
import { ALL_PAIRS, PODS, type Blocks, type Probe } from '../../../kernel/policy/cases.ts';
import { CNF, firstPod, getPod, PURPOSE, type NodeCluster } from '../cluster.ts';
import { openwrtCnf } from './edge.ts';

export type PodsBehindCnf = {
  blocks: Blocks;
  /** On the cluster, of a namespace of the cases. */
  namespaceOf: (name: string) => string;
  /** Makes the kernel of the CNF's pod what its OpenWRT has been told so far. */
  follow: () => Promise<void>;
  /** `from>to` of all pairs that cannot connect. `expected`: of whom it is believed soon. */
  denied: (probe: Probe, expected: ReadonlySet<string>) => Promise<string[]>;
  close: () => Promise<void>;
};

/** Whether the CNF is a real OpenWRT. */
export const IS_REAL = whyNoDeviceImage() === undefined;

const IMAGE = 'integratedcloudnative/openwrt:dev';
/** What is denied would arrive at once; what passes may take its time on a busy machine. */
const DENIED_MS = 1_000;
const PASSES_MS = 10_000;
/** Subnets beside the node's own routes. */
const TABLE = '7300';
const BEFORE = '7300';
const AFTER = '7301';

const SERVE = `const answer = (socket) => socket.on('error', () => undefined).end('!');
for (const port of [80, 81]) require('node:net').createServer(answer).listen(port, '0.0.0.0');`;
/** Prints of each whether it was answered. */
const CONNECT = `const connects = ({ to, port, waitMs }) => new Promise((resolve) => {
  const socket = require('node:net').connect(port, to);
  const end = (passed) => { socket.destroy(); resolve(passed); };
  socket.setTimeout(waitMs, () => end(false)).on('error', () => end(false)).on('data', () => end(true));
});
Promise.all(JSON.parse(process.argv[1]).map(connects)).then((all) => console.log(JSON.stringify(all)));`;

const splitPod = (pod: string): [namespace: string, name: string] => {
  const [namespace = '', name = ''] = pod.split('/');
  return [namespace, name];
};

export const createPodsBehindCnf = async (cluster: NodeCluster): Promise<PodsBehindCnf> => {
  const namespaces = new Map<string, string>();
  const namespaceOf = (name: string): string => namespaces.get(name) ?? '';
  for (const name of new Set(PODS.map((pod) => splitPod(pod)[0]))) {
    const made = await cluster.createNamespace(`policies-${name}`);
    namespaces.set(name, made);
    await cluster.kubectl(['label', 'namespace', made, `ns=${name}`]);
  }
  const cnfNamespace = await cluster.createNamespace('policies-cnf');
  const start = async (objects: readonly object[]): Promise<void> => {
    const list = { apiVersion: 'v1', kind: 'List', items: objects };
    await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(list) });
  };
  await start(PODS.map((pod) => containerOf(pod, namespaceOf(splitPod(pod)[0]))));
  await start([onNode(cnfNamespace)]);
  if (IS_REAL) {
    await cluster.loadImages([await buildDeviceImage()]);
    await apply(cluster, cnfNamespace, ...openwrtCnf());
    await waitForPods(cluster, cnfNamespace, PURPOSE, 1);
  } else {
    const annotations = { 'sdewan.akraino.org/policy-networks': 'cluster' };
    await createCnf(cluster, {
      namespace: cnfNamespace,
      purpose: PURPOSE,
      replicas: 1,
      annotations,
    });
  }
  const cnf = { namespace: cnfNamespace, pod: await firstPod(cluster, cnfNamespace) };
  const addressOf = (namespace: string, pod: string): Promise<string> =>
    until(`${pod} runs`, async () => {
      const { status } = await getPod(cluster, namespace, pod);
      return status.phase === 'Running' ? status.podIP : undefined;
    });
  const addresses = new Map<string, string>();
  for (const pod of PODS) {
    const [namespace, name] = splitPod(pod);
    addresses.set(pod, await addressOf(namespaceOf(namespace), name));
  }
  await addressOf(cnfNamespace, ROUTER);
  const inside = async (target: { namespace: string; pod: string }, script: string) => {
    const { code, stdout, stderr } = await cluster.node.inPodNetwork(target, ['sh', '-c', script]);
    if (code !== 0) throw new Error(`${script}: ${stderr}`);
    return stdout;
  };
  const onRouter = (script: string) =>
    inside({ namespace: cnfNamespace, pod: ROUTER }, `set -e\n${script}`);

  const gateway = await addressOf(cnfNamespace, cnf.pod);
  const [, link = ''] = / dev (\S+) /.exec(await onRouter(`ip route get ${gateway}`)) ?? [];
  const each = (command: (address: string) => string): string =>
    [...addresses.values()].map(command).join('\n');
  await inside(
    cnf,
    'echo 1 >/proc/sys/net/ipv4/ip_forward && for each in all eth0; do echo 0 >/proc/sys/net/ipv4/conf/$each/send_redirects; done',
  );
  await onRouter(`for each in all ${link}; do echo 0 >/proc/sys/net/ipv4/conf/$each/rp_filter; done
${each((address) => `ip route add ${address}/32 via ${gateway} dev ${link} onlink table ${TABLE}`)}
ip rule add pref ${BEFORE} iif ${link} lookup main
${each((address) => `ip rule add pref ${AFTER} from ${address}/32 lookup ${TABLE}`)}`);

  let followed = 0;
  return {
    namespaceOf,
    blocks: { of: (pod) => `${addresses.get(pod)}/32`, all: '0.0.0.0/0' },
    follow: async () => {
      if (IS_REAL) return;
      const journal = await readJournal(cluster, cnf);
      for (const { event, ok, text } of journal.slice(followed)) {
        followed += 1;
        if (event !== 'policies') continue;
        if (ok && text === undefined) throw new Error('a table is too long for the journal');
        if (ok) await inside(cnf, `nft -f - <<'END'\n${text}END\n`);
      }
    },
    denied: async ({ port }, expected) => {
      const passed = await Promise.all(
        PODS.map(async (from) => {
          const pairs = ALL_PAIRS.filter((pair) => pair.startsWith(`${from}>`));
          const tries = pairs.map((pair) => ({
            to: addresses.get(pair.slice(from.length + 1)),
            port,
            waitMs: expected.has(pair) ? DENIED_MS : PASSES_MS,
          }));
          const [namespace, pod] = splitPod(from);
          const target = { namespace: namespaceOf(namespace), pod, container: MAIN };
          const argv = ['node', '-e', CONNECT, JSON.stringify(tries)];
          const { stdout, stderr } = await cluster.exec(target, argv);
          if (stdout === '') throw new Error(`${from}: ${stderr}`);
          const answers: boolean[] = JSON.parse(stdout);
          return pairs.filter((_, at) => answers[at] === true);
        }),
      );
      const all = new Set(passed.flat());
      return ALL_PAIRS.filter((pair) => !all.has(pair)).sort();
    },
    close: async () => {
      await onRouter(`ip route flush table ${TABLE}
while ip rule delete pref ${AFTER} 2>/dev/null; do :; done
ip rule delete pref ${BEFORE}`);
    },
  };
};

const MAIN = CNF;
const ROUTER = 'router';

const podWith = (metadata: object, spec: object, container: object): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata,
  spec: {
    ...spec,
    terminationGracePeriodSeconds: 0,
    containers: [{ name: MAIN, image: IMAGE, imagePullPolicy: 'IfNotPresent', ...container }],
  },
});

const containerOf = (pod: string, namespace: string): object => {
  const [, name] = splitPod(pod);
  const ports = [80, 81].map((port) => ({ name: `serve-${port}-tcp`, containerPort: port }));
  const command = ['node', '-e', SERVE];
  return podWith({ name, namespace, labels: { pod: name } }, {}, { command, ports });
};

/** Whose network is the node's. */
const onNode = (namespace: string): object =>
  podWith(
    { name: ROUTER, namespace },
    { hostNetwork: true },
    { command: ['node', '-e', 'setInterval(() => undefined, 60_000)'] },
  );
