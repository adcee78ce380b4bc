/**
 * The link between this machine and the node. It goes, with its routes, when the node's network
 * namespace goes.
 */
import { run } from '../run.ts';
import { NODE_ENVIRONMENT, requireInside } from './namespaces.ts';
import { freeBlocks, subnetsOf, type Subnets } from './subnets.ts';

const IP_TIMEOUT_MS = 10_000;
/** The node's end. */
const UPLINK = 'uplink';

/**
 * Takes a free block of addresses. The link's name is the block's lock: the kernel gives a name
 * once, so that two nodes that start at the same time cannot take the same block. @throws when
 * every block is in use.
 */
export const connectNode = async (initPid: number): Promise<Subnets> => {
  for (const block of freeBlocks(await addressesInUse())) {
    const link = `kth${block}`;
    const add = [
      'link',
      'add',
      link,
      'type',
      'veth',
      'peer',
      'name',
      UPLINK,
      'netns',
      `${initPid}`,
    ];
    const added = await ip(add);
    if (added.code !== 0 && added.stderr.includes('File exists')) continue;
    if (added.code !== 0) throw new Error(`ip ${add.join(' ')}: ${added.stderr}`);
    const subnets = subnetsOf(block);
    await connect(link, initPid, subnets);
    return subnets;
  }
  throw new Error(
    'no free subnet for a node: every block of 10.200.0.0/14 and 172.24.0.0/14 is routed',
  );
};

const connect = async (link: string, initPid: number, subnets: Subnets): Promise<void> => {
  const { hostAddress, nodeAddress, linkPrefix, pods, services } = subnets;
  const inNode = [
    'ip link set lo up',
    // A Service without pods refuses connections, each at once: kube-proxy's rule for that comes
    // after routing, and the kernel's limit of one refusal a second would let the API server wait
    // seconds for every webhook call.
    `ip route add ${services} dev lo`,
    'echo 0 >/proc/sys/net/ipv4/icmp_ratelimit',
    `ip address add ${nodeAddress}/${linkPrefix} dev ${UPLINK}`,
    `ip link set ${UPLINK} up`,
    'echo 1 >/proc/sys/net/ipv4/ip_forward',
  ];
  await requireInside(initPid, ['sh', '-ec', inNode.join('\n')]);
  for (const args of [
    ['address', 'add', `${hostAddress}/${linkPrefix}`, 'dev', link],
    ['link', 'set', link, 'up'],
    ['route', 'add', pods, 'via', nodeAddress],
    ['route', 'add', services, 'via', nodeAddress],
  ]) {
    const result = await ip(args);
    if (result.code !== 0) throw new Error(`ip ${args.join(' ')}: ${result.stderr}`);
  }
};

const addressesInUse = async (): Promise<string[]> => {
  const listed = await ip(['-json', '-4', 'route', 'show', 'table', 'all']);
  const routes: { dst?: string }[] = JSON.parse(listed.stdout || '[]');
  return routes.map(({ dst }) => dst).filter((dst) => dst !== undefined);
};

const ip = async (args: readonly string[]) =>
  await run(['ip', ...args], { env: NODE_ENVIRONMENT, timeoutMs: IP_TIMEOUT_MS });
