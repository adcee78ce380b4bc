/**
 * A CNF whose container is a real OpenWRT, between a client and a server, pods of the same node:
 * what they send to each other comes in by its net1 and leaves by its net2, and back. Its image is
 * what an operator would build: nothing in it knows of the agent.
 */
import type { PodTarget } from 'kind-test-harness';
import { DEVICE_IMAGE } from '../../../deploy/images/device.ts';
import { observePods, until } from '../../../stack/observe.ts';
import { apply, waitForPods } from '../../../stack/operator.ts';
import { rule, type Rule } from '../../../stack/rules.ts';
import { getPod, PURPOSE, type NodeCluster } from '../cluster.ts';

export type Edge = {
  namespace: string;
  /** Addresses of the pods, and of the CNF where the client's packets come in. */
  client: string;
  server: string;
  cnf: string;
  /** By which the CNF sends back to the node, and the address there for what is for the server. */
  routes: readonly Rule[];
  serverGateway: string;
  /** The name of its pod, of which there is one. */
  pod: () => Promise<string>;
  /** A program of this machine in the network of the CNF's pod; its output. */
  onCnf: (argv: readonly string[]) => Promise<string>;
  /** What becomes of a connection from the client: `answered`, or the error's code. */
  send: (to: string, port: number) => Promise<string>;
  /**
   * Names of the rules of firewall4 that such a connection's packets have met in the kernel, as it
   * says itself.
   */
  metBy: (to: string, port: number) => Promise<string[]>;
  /** To be called when the CNF has a new pod: its links are others. */
  connect: () => Promise<void>;
  close: () => Promise<void>;
};

/** What is dropped would arrive at once. */
const DROPPED_MS = 3_000;
const MONITORED_S = 5;
const LINKS = { net1: '10.77.1', net2: '10.77.2' } as const;
type Link = keyof typeof LINKS;
/** Subnets beside the node's own routes. */
const TABLES = { net1: '7311', net2: '7312' } as const;
const FIRST_PREFERENCE = 7310;

const PEER_IMAGE = 'integratedcloudnative/openwrt:dev';
const SERVE = `for (const port of [80, 81, 82])
  require('node:net').createServer((socket) => socket.on('error', () => undefined).end(process.argv[1])).listen(port, '0.0.0.0');`;
/** A server's program: what it says to each that connects to port 80, 81 or 82. */
export const serving = (answer: string): string[] => ['node', '-e', SERVE, answer];
export const IDLE = ['node', '-e', 'setInterval(() => undefined, 60_000)'];
const CONNECT = `const [to, port, waitMs] = process.argv.slice(1);
const socket = require('node:net').connect(Number(port), to);
const end = (what) => { console.log(what); process.exit(); };
socket.setTimeout(Number(waitMs), () => end('ETIMEDOUT')).on('error', ({ code }) => end(code)).on('data', (data) => end(String(data)));`;
/** What the server at the end of a connection from the pod says, or the error's code. */
export const connectFrom = async (
  cluster: NodeCluster,
  from: PodTarget & { container?: string },
  [to, port]: [address: string, port: number],
): Promise<string> => {
  const argv = ['node', '-e', CONNECT, to, String(port), String(DROPPED_MS)];
  const { stdout, stderr } = await cluster.exec({ container: 'main', ...from }, argv);
  return stdout.trim() || stderr;
};

export const createEdge = async (cluster: NodeCluster): Promise<Edge> => {
  const namespace = await cluster.createNamespace('openwrt');
  await apply(
    cluster,
    namespace,
    peer('client', IDLE),
    peer('server', serving('answered')),
    peer('node', IDLE, { hostNetwork: true }),
    ...openwrtCnf({ annotations: { 'k8s.plugin.opnfv.org/nfn-network': NETWORKS } }),
  );
  const addressOf = (pod: string): Promise<string> =>
    until(`${pod} runs`, async () => {
      const { status } = await getPod(cluster, namespace, pod);
      return status.phase === 'Running' ? status.podIP : undefined;
    });
  const [client = '', server = ''] = await Promise.all(['client', 'server', 'node'].map(addressOf));
  const inNetworkOf = async (pod: string, argv: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await cluster.node.inPodNetwork({ namespace, pod }, argv);
    if (code !== 0) throw new Error(`${argv.join(' ')}: ${stderr}`);
    return stdout;
  };
  const onNode = (script: string) => inNetworkOf('node', ['sh', '-ec', script]);
  const pod = async (): Promise<string> => {
    const pods = await observePods(cluster, namespace, PURPOSE);
    const one = pods.find(({ terminating }) => !terminating);
    if (!one) throw new Error('the CNF has no pod');
    return one.name;
  };
  const onCnf = async (argv: readonly string[]) => await inNetworkOf(await pod(), argv);

  /** The node's end of a link. */
  const outerOf = async (link: Link): Promise<string> => {
    const listed = await onCnf(['ip', '-json', 'link', 'show', 'dev', link]);
    const [{ link_index: index } = {}]: { link_index?: number }[] = JSON.parse(listed);
    const outer: { ifindex: number; ifname: string }[] = JSON.parse(await onNode('ip -json link'));
    const found = outer.find(({ ifindex }) => ifindex === index);
    if (!found) throw new Error(`the node has no other end of ${link}`);
    return found.ifname;
  };
  const disconnect = () =>
    onNode(
      `for at in 0 1 2 3; do ip rule delete pref $((${FIRST_PREFERENCE} + at)) 2>/dev/null || true; done`,
    );
  const connect = async (): Promise<void> => {
    await disconnect();
    const [net1, net2] = [await outerOf('net1'), await outerOf('net2')];
    const from = FIRST_PREFERENCE;
    await onNode(`for each in all ${net1} ${net2}; do echo 0 >/proc/sys/net/ipv4/conf/$each/rp_filter; done
ip address replace ${LINKS.net1}.1/24 dev ${net1}
ip address replace ${LINKS.net2}.1/24 dev ${net2}
ip route replace default via ${LINKS.net1}.2 dev ${net1} table ${TABLES.net1}
ip route replace default via ${LINKS.net2}.2 dev ${net2} table ${TABLES.net2}
ip rule add pref ${from} iif ${net1} lookup main
ip rule add pref ${from + 1} iif ${net2} lookup main
ip rule add pref ${from + 2} from ${client} to ${server} lookup ${TABLES.net1}
ip rule add pref ${from + 3} from ${server} to ${client} lookup ${TABLES.net2}`);
  };

  const send = (to: string, port: number): Promise<string> =>
    connectFrom(cluster, { namespace, pod: 'client' }, [to, port]);
  const metBy = async (to: string, port: number): Promise<string[]> => {
    const traced = `ip saddr ${client} ip daddr ${to} tcp dport ${port} meta nftrace set 1`;
    await onCnf([
      'nft',
      `add table inet seen
add chain inet seen first { type filter hook prerouting priority -350; }
add rule inet seen first ${traced}`,
    ]);
    try {
      const end = new AbortController();
      const monitor = `timeout ${MONITORED_S} nft monitor trace || true`;
      const told = onCnf(['sh', '-c', monitor]).finally(() => end.abort());
      // When it has begun to listen is not told.
      while (!end.signal.aborted) await send(to, port);
      const names = [...(await told).matchAll(/ inet fw4 .* comment "!fw4: ([^"]*)"/g)];
      return [...new Set(names.map(([, name = '']) => name))];
    } finally {
      await onCnf(['nft', 'delete table inet seen']);
    }
  };

  await waitForPods(cluster, namespace, PURPOSE, 1);
  await connect();
  return {
    namespace,
    client,
    server,
    cnf: `${LINKS.net1}.2`,
    serverGateway: `${LINKS.net2}.1`,
    routes: [
      rule('CNFRoute', 'to-client', { dst: `${client}/32`, gw: `${LINKS.net1}.1`, dev: 'net1' }),
      rule('CNFRoute', 'to-server', { dst: `${server}/32`, gw: `${LINKS.net2}.1`, dev: 'net2' }),
    ],
    pod,
    onCnf,
    send,
    metBy,
    connect,
    close: async () => {
      await disconnect();
    },
  };
};

export const peer = (
  name: string,
  command: readonly string[],
  spec: object = {},
  annotations: Readonly<Record<string, string>> = {},
): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { role: name }, annotations },
  spec: {
    ...spec,
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'main', image: PEER_IMAGE, imagePullPolicy: 'IfNotPresent', command }],
  },
});

const labels = { sdewanPurpose: PURPOSE };
const NETWORKS = JSON.stringify({
  type: 'ovn4nfv',
  interface: Object.entries(LINKS).map(([name, prefix]) => ({
    interface: name,
    name: `ovn-${name}`,
    ipAddress: `${prefix}.2/24`,
    defaultGateway: 'false',
  })),
});

export type OpenwrtCnf = {
  annotations?: Readonly<Record<string, string>>;
  /** Absent: the cluster's own. */
  runtimeClassName?: string;
  env?: Readonly<Record<string, string>>;
};

/**
 * One pod, with the least that OpenWRT needs: the right to change its network, and a kernel that
 * forwards. Policies hold at it for the pods' own addresses.
 */
export const openwrtCnf = ({
  annotations = {},
  runtimeClassName,
  env = {},
}: OpenwrtCnf = {}): object[] => [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'cnf' } },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: PURPOSE, labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: {
          labels,
          annotations: { 'sdewan.akraino.org/policy-networks': 'cluster', ...annotations },
        },
        spec: {
          runtimeClassName,
          serviceAccountName: 'cnf',
          terminationGracePeriodSeconds: 5,
          initContainers: [
            {
              name: 'forwarding',
              image: DEVICE_IMAGE,
              command: ['sh', '-c', 'echo 1 >/proc/sys/net/ipv4/ip_forward'],
              securityContext: { privileged: true },
            },
          ],
          containers: [
            {
              name: 'openwrt',
              image: DEVICE_IMAGE,
              env: Object.entries(env).map(([name, value]) => ({ name, value })),
              resources: { requests: { cpu: '250m', memory: '64Mi' } },
              securityContext: {
                capabilities: { add: ['NET_ADMIN'] },
                seccompProfile: { type: 'RuntimeDefault' },
              },
              readinessProbe: { httpGet: { path: '/', port: 80 }, periodSeconds: 1 },
            },
          ],
        },
      },
    },
  },
];
