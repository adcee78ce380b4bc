/**
 * A network of namespaces: one for each pod of the cases, and between them the CNF's, through which
 * all their packets pass. In each pod's a prober runs (`prober.mjs`). All goes when `close` is
 * called, or with the namespaces' last process.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { PODS, addressOfPod, type Protocol } from '../cases.ts';

export type Request =
  | { to: string; protocol: Protocol; port: number; waitMs: number }
  | { keep: { to: string; port: number } }
  | { ask: true; waitMs: number };

export type Network = {
  /** In the CNF's namespace: makes the kernel what the file says. @throws with nft's words */
  load: (file: string) => Promise<void>;
  /**
   * No packet belongs any more to a connection that the CNF's kernel knows: one that was allowed a
   * case ago would pass as open.
   */
  forgetFlows: () => Promise<void>;
  /** Starts a program in the CNF's namespace, and gives what it prints. @throws with its words */
  inCnf: (command: string, ...params: readonly string[]) => Promise<string>;
  /** What the prober of that pod answers. */
  probe: (pod: string, request: Request) => Promise<boolean>;
  /**
   * `<address of the sender> . <port>` of the SCTP packets that have come to the pod since the last
   * call.
   */
  arrivedBySctp: (pod: string) => Promise<string[]>;
  close: () => Promise<void>;
};

/** The CNF's own address towards each pod, as a container network has it. */
export const GATEWAY = { 4: '169.254.1.1', 6: 'fe80::1' };

export const createNetwork = async (): Promise<Network> => {
  const name = (of: string): string => `sdewan-${process.pid}-${of.replace('/', '-')}`;
  const cnf = name('cnf');
  const all = [cnf, ...PODS.map(name)];
  const probers = new Map<string, Prober>();
  const close = async (): Promise<void> => {
    for (const prober of probers.values()) await prober.end();
    await run('ip', ['-batch', '-'], all.map((each) => `netns delete ${each}\n`).join(''));
  };
  try {
    await run('ip', ['-batch', '-'], all.map((each) => `netns add ${each}\n`).join(''));
    await run('ip', ['-n', cnf, '-batch', '-'], PODS.map((pod) => linkOf(pod, name(pod))).join(''));
    await inNamespace(cnf, 'sh', [
      '-c',
      'echo 1 >/proc/sys/net/ipv4/ip_forward && echo 1 >/proc/sys/net/ipv6/conf/all/forwarding',
    ]);
    for (const pod of PODS) {
      await run('ip', ['-n', name(pod), '-batch', '-'], podSide(pod));
      await inNamespace(name(pod), 'nft', ['-f', '-'], SCTP_TABLE);
    }
    for (const pod of PODS) probers.set(pod, await startProber(name(pod)));
  } catch (error) {
    await close();
    throw error;
  }
  let zone = 0;
  return {
    forgetFlows: async () => {
      zone += 1;
      await inNamespace(cnf, 'nft', ['-f', '-'], zoneTable(zone));
    },
    load: async (file) => {
      await inNamespace(cnf, 'nft', ['-f', '-'], file);
    },
    inCnf: (command, ...params) => inNamespace(cnf, command, params),
    probe: async (pod, request) => (await probers.get(pod)?.ask(request)) === true,
    arrivedBySctp: async (pod) => {
      const listed = await inNamespace(name(pod), 'nft', ['-s', 'list', 'table', 'inet', 'probe']);
      await inNamespace(
        name(pod),
        'nft',
        ['-f', '-'],
        'flush set inet probe seen4\nflush set inet probe seen6\n',
      );
      return [...listed.matchAll(/([0-9a-f.:]+ \. \d+)/g)].map(([, arrived = '']) => arrived);
    },
    close,
  };
};

/** Connections of one zone are unknown in all others. */
const zoneTable = (zone: number): string => `table inet ${ZONE_TABLE} {}
delete table inet ${ZONE_TABLE}
table inet ${ZONE_TABLE} {
  chain arriving {
    type filter hook prerouting priority raw;
    ct zone set ${zone}
  }
}
`;
export const ZONE_TABLE = 'probe_zone';

const linkOf = (pod: string, namespace: string): string => {
  const device = deviceOf(pod);
  return `link add ${device} type veth peer name eth0 netns ${namespace}
link set ${device} up
addr add ${GATEWAY[4]}/32 dev ${device}
addr add ${GATEWAY[6]}/64 dev ${device} nodad
route add ${addressOfPod(pod, 4)}/32 dev ${device}
route add ${addressOfPod(pod, 6)}/128 dev ${device}
`;
};

const deviceOf = (pod: string): string => `to-${pod.replace('/', '-')}`;

const podSide = (pod: string): string => `link set lo up
link set eth0 up
addr add ${addressOfPod(pod, 4)}/32 dev eth0
addr add ${addressOfPod(pod, 6)}/128 dev eth0 nodad
route add ${GATEWAY[4]}/32 dev eth0
route add default via ${GATEWAY[4]} dev eth0
route add default via ${GATEWAY[6]} dev eth0
`;

/**
 * No program here sends SCTP, and kernels may lack it: UDP to port 40080 leaves as SCTP to port 80,
 * whose header begins with the same two ports; its tag, which is 0 in a first packet, is where UDP
 * has length and checksum. What arrives is noted before anything looks at it.
 */
const SCTP_TABLE = `table inet probe {
  set seen4 { type ipv4_addr . inet_service; flags dynamic; size 1024; }
  set seen6 { type ipv6_addr . inet_service; flags dynamic; size 1024; }
  chain leaving {
    type filter hook postrouting priority 0;
    ip protocol udp udp dport 40080 udp dport set 80 @th,32,32 set 0 ip protocol set 132
    ip protocol udp udp dport 40081 udp dport set 81 @th,32,32 set 0 ip protocol set 132
    ip6 nexthdr udp udp dport 40080 udp dport set 80 @th,32,32 set 0 ip6 nexthdr set 132
    ip6 nexthdr udp udp dport 40081 udp dport set 81 @th,32,32 set 0 ip6 nexthdr set 132
  }
  chain arriving {
    type filter hook prerouting priority -400;
    meta nfproto ipv4 meta l4proto sctp update @seen4 { ip saddr . th dport } drop
    meta nfproto ipv6 meta l4proto sctp update @seen6 { ip6 saddr . th dport } drop
  }
}
`;

type Prober = { ask: (request: Request) => Promise<boolean>; end: () => Promise<void> };

const startProber = async (namespace: string): Promise<Prober> => {
  const child: ChildProcess = spawn(
    'ip',
    ['netns', 'exec', namespace, process.execPath, join(import.meta.dirname, 'prober.mjs')],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const { stdin, stdout } = child;
  if (!stdin || !stdout) throw new Error('a prober has no pipes');
  const waiting = new Map<unknown, (passed: boolean) => void>();
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const ready = new Promise<boolean>((resolve) => waiting.set('ready', resolve));
  createInterface({ input: stdout }).on('line', (line) => {
    const { id, passed }: { id: unknown; passed: boolean } = JSON.parse(line);
    waiting.get(id)?.(passed);
    waiting.delete(id);
  });
  await Promise.race([
    ready,
    ended.then(() => Promise.reject(new Error(`the prober in ${namespace} has ended`))),
  ]);
  let count = 0;
  return {
    ask: (request) =>
      new Promise((resolve) => {
        const id = (count += 1);
        waiting.set(id, resolve);
        stdin.write(`${JSON.stringify({ ...request, id })}\n`);
      }),
    end: async () => {
      stdin.end();
      await ended;
    },
  };
};

const inNamespace = (
  namespace: string,
  command: string,
  params: readonly string[],
  input = '',
): Promise<string> => run('ip', ['netns', 'exec', namespace, command, ...params], input);

/** @throws with what it says on stderr */
const run = (command: string, params: readonly string[], input = ''): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = execFile(command, params, { maxBuffer: 2 ** 24 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${command} ${params.join(' ')}: ${stderr || error.message}`));
      else resolve(stdout);
    });
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
