/**
 * Hosts at the other end of a device's interfaces: each network in a namespace of its own, where a
 * program listens and says whom it sees. It takes root there, with iproute2, ping and python3.
 */
import type { NamedDevice } from './named-device.ts';

/** As test/openwrt/device has them. */
const NETWORKS = [
  { name: 'net0', host: '172.16.20.1', device: '172.16.20.10' },
  { name: 'net1', host: '172.16.30.1', device: '172.16.30.10' },
  { name: 'net2', host: '172.16.40.1', device: '172.16.40.10' },
] as const;
/**
 * Both uplinks, net1 and net2, have a host of this address behind them: who answers tells the way
 * that a packet took.
 */
const BEHIND_UPLINKS = '10.99.0.1';
export const PORT = 7000;

const LISTEN = `
import socket, sys
s = socket.create_server(("0.0.0.0", int(sys.argv[2])), backlog=16)
while True:
    c, peer = s.accept()
    c.sendall((sys.argv[1] + " sees " + peer[0]).encode())
    c.close()
`;
const CONNECT = `
import socket, sys
try:
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=1)
    print(s.recv(100).decode())
except TimeoutError: print("no answer")
except OSError: print("refused")
`;

const space = (name: string): string => `sdewan-${name}`;
const within = (name: string): string => `ip netns exec ${space(name)}`;

/** A ping that is not there would count as a packet that gets no answer. */
const HAS_ALL = `for one in ip ping python3; do
  command -v $one >/dev/null || { echo "the other end has no $one" >&2; exit 1; }
done`;

const SET_UP = NETWORKS.map(({ name, host, device }) =>
  [
    `ip netns add ${space(name)}`,
    `ip link set ${name} netns ${space(name)}`,
    `ip -n ${space(name)} link set lo up`,
    `ip -n ${space(name)} addr add ${host}/24 dev ${name}`,
    `ip -n ${space(name)} link set ${name} up`,
    `ip -n ${space(name)} route add default via ${device}`,
    name === 'net0' ? '' : `ip -n ${space(name)} addr add ${BEHIND_UPLINKS}/32 dev lo`,
    `${within(name)} timeout 3600 python3 -c '${LISTEN}' ${name} ${PORT} >/dev/null 2>&1 </dev/null &`,
  ].join('\n'),
).join('\n');

const TEAR_DOWN = NETWORKS.map(({ name, host }) =>
  [
    `for p in $(ip netns pids ${space(name)}); do kill $p; done`,
    `ip -n ${space(name)} link set ${name} netns $$`,
    `ip netns del ${space(name)}`,
    `ip addr add ${host}/24 dev ${name}; ip link set ${name} up`,
  ].join('\n'),
).join('\n');

/** What becomes of a packet: an answer, `no answer`, or `refused`. */
export type Probe = { from: 'net0' | 'net1' | 'net2'; to: string; port?: number };

export type Peers = { send: (probe: Probe) => string; leave: () => void };

/** @throws Error for a device whose peers cannot be reached */
export const openPeers = ({ peer }: NamedDevice): Peers => {
  if (!peer) throw new Error('packets cannot be sent without --peer');
  peer(`set -e\n${HAS_ALL}\n${SET_UP}\n`);
  return {
    send: ({ from, to, port }) =>
      port === undefined
        ? pinged(peer(`${within(from)} ping -n -c 1 -W 1 ${to} 2>&1\ntrue\n`))
        : peer(`${within(from)} python3 -c '${CONNECT}' ${to} ${port}\n`).trim(),
    leave: () => {
      peer(TEAR_DOWN);
    },
  };
};

const pinged = (output: string): string => {
  if (output.includes(' bytes from ')) return 'answered';
  return /unreachable|prohibited/i.test(output) ? 'refused' : 'no answer';
};
