/**
 * OVN's databases, northd and ovn-trace without any Open vSwitch: what Neutron writes becomes
 * flows, and a packet is followed through them.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Installed } from './install.ts';

const run = promisify(execFile);

export type TracedPacket = {
  network: string;
  from: { port: string; mac: string; address: string };
  to: { mac: string; address: string };
  protocol: 'TCP' | 'UDP' | 'SCTP';
  port: number;
};

export type Ovn = {
  /** Where its databases listen. */
  nb: string;
  sb: string;
  /**
   * Whether each arrives anywhere as the first packet of its connection, by all that Neutron has
   * written before.
   */
  arrive: (packets: readonly TracedPacket[]) => Promise<boolean[]>;
  stop: () => void;
};

/** A packet passes the connection tracking of both ports. */
const TRACKED_TWICE = 2;
/** Asked of ovn-trace at a time. */
const AT_ONCE = 8;
/**
 * Time of any program, and of a verdict, on a busy machine. What takes longer hangs, and is told as
 * that.
 */
const TIMEOUT_MS = 120_000;

export const startOvn = async (folder: string, { bin, root }: Installed): Promise<Ovn> => {
  const at = (name: string): string => join(folder, name);
  const daemon = (name: string): string[] => [
    `--unixctl=${at(`${name}.ctl`)}`,
    `--pidfile=${at(`${name}.pid`)}`,
    `--log-file=${at(`${name}.log`)}`,
    '--no-chdir',
    '--detach',
  ];
  const env = { ...process.env, OVS_RUNDIR: folder, OVN_RUNDIR: folder };
  const program = (name: string, args: readonly string[]): Promise<{ stdout: string }> =>
    run(join(bin, name), args, { env, timeout: TIMEOUT_MS });
  for (const name of ['nb', 'sb']) {
    const schema = join(root, `usr/share/ovn/ovn-${name}.ovsschema`);
    await program('ovsdb-tool', ['create', at(`${name}.db`), schema]);
    await program('ovsdb-server', [
      at(`${name}.db`),
      `--remote=punix:${at(`${name}.sock`)}`,
      ...daemon(name),
    ]);
  }
  const [nb, sb] = [`unix:${at('nb.sock')}`, `unix:${at('sb.sock')}`];
  await program('ovn-northd', [`--ovnnb-db=${nb}`, `--ovnsb-db=${sb}`, ...daemon('northd')]);
  let traces = 0;
  /**
   * It reads the flows once, at its start, and each `--ct` is used up by one look into the
   * connection tracking.
   */
  const withTrace = async <T>(packets: number, use: (socket: string) => Promise<T>): Promise<T> => {
    const name = `trace-${(traces += 1)}`;
    const first = Array.from({ length: TRACKED_TWICE * packets }, () => '--ct=new');
    await program('ovn-trace', [`--db=${sb}`, ...first, ...daemon(name)]);
    try {
      return await use(at(`${name}.ctl`));
    } finally {
      kill(name);
    }
  };
  const kill = (name: string): void => {
    const file = at(`${name}.pid`);
    if (existsSync(file)) process.kill(Number(readFileSync(file, 'utf8')), 'SIGKILL');
  };
  return {
    nb,
    sb,
    arrive: async (packets) => {
      await program('ovn-nbctl', [`--db=${nb}`, '--wait=sb', 'sync']);
      return withTrace(packets.length, async (socket) => {
        const arrived: boolean[] = [];
        const waiting = [...packets.entries()];
        const work = async (): Promise<void> => {
          for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
            const [index, packet] = next;
            const args = ['--minimal', `neutron-${packet.network}`, flowOf(packet)];
            arrived[index] = arrivalIn(await control(socket, 'trace', args));
          }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, work));
        return arrived;
      });
    },
    stop: () => {
      for (const name of ['northd', 'sb', 'nb']) kill(name);
    },
  };
};

/**
 * @throws where it is no verdict on a first packet: the datapath or a port is not known, or the
 * words for connection tracking are used up
 */
const arrivalIn = (answer: string): boolean => {
  if (!answer.startsWith('# ') || answer.includes('ct_state=est')) throw new Error(answer);
  return answer.includes('output(');
};

const flowOf = ({ from, to, protocol, port }: TracedPacket): string => {
  const family = from.address.includes(':') ? 'ip6' : 'ip4';
  return [
    `inport == "${from.port}"`,
    `eth.src == ${from.mac}`,
    `eth.dst == ${to.mac}`,
    `${family}.src == ${from.address}`,
    `${family}.dst == ${to.address}`,
    'ip.ttl == 64',
    `${protocol.toLowerCase()}.dst == ${port}`,
  ].join(' && ');
};

/** As ovs-appctl asks a daemon, without a process for each packet. @throws with what it says */
const control = (socket: string, method: string, params: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const connection = connect(socket);
    let text = '';
    connection.on('error', reject);
    connection.on('close', () => reject(new Error(`${method} ${params.join(' ')}: no answer`)));
    connection.setTimeout(TIMEOUT_MS, () => connection.destroy());
    connection.on('data', (chunk) => {
      text += chunk.toString();
      const answer = parsed(text);
      if (answer === undefined) return;
      connection.end();
      if (answer.error) reject(new Error(`${method} ${params.join(' ')}: ${answer.error}`));
      else resolve(answer.result ?? '');
    });
    connection.write(JSON.stringify({ id: 0, method, params }));
  });

const parsed = (text: string): { result?: string; error?: string | null } | undefined => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
