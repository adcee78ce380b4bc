/**
 * The kernel as judge: firewall4's own templates render a scene, nft loads it in a network
 * namespace, each packet is really sent over veth, and `nft monitor trace` says who decided. Needs
 * root on Linux, nft, a C compiler, and an OpenWRT with firewall4 (SDEWAN_OPENWRT_ROOTFS).
 */
import {
  execFileSync,
  spawn,
  spawnSync,
  type ChildProcessWithoutNullStreams,
} from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { rootFileSystem, whyNoRootFileSystem } from '../../../openwrt/device/root-file-system.ts';
import { leftText, type Judgement } from '../judgement.ts';
import { ADDRESSES, DEVICES, ROUTES, type Scene, type SentPacket } from '../random-firewalls.ts';
import { frameOf, packetBytes, received, type Received } from './frames.ts';
import { Monitor, toldBy, type Step, type Told } from './monitor.ts';

const HERE = import.meta.dirname;

const has = (program: string): boolean => {
  try {
    execFileSync('sh', ['-c', 'command -v "$1"', 'sh', program], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

/** Why the kernel cannot judge here; undefined: it can. */
export const missing = (): string | undefined => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'it needs root on Linux';
  const lacking = ['nft', 'ip', 'unshare', 'nsenter', 'cc'].filter((one) => !has(one));
  if (lacking.length > 0) return `it needs ${lacking.join(', ')}`;
  return whyNoRootFileSystem();
};

const MAC = (at: number): string => `02:00:00:00:01:0${at}`;
const WAIT_MS = 20_000;
const LOOK_MS = 10;
/** Numbers of packets that only show that the monitor listens, and that it is through. */
const BEFORE = 65_001;
const AFTER = 65_002;

/** As an agent reads them. */
const LIST = ['-s', 'list', 'table', 'inet', 'fw4'];

export type Judged = {
  /**
   * One for each packet; undefined where its trace is not whole, or it was not the first of its
   * connection.
   */
  judgements: readonly (Judgement | undefined)[];
  /** The rules of the kernel, as nft prints them. */
  listing: string;
};

/**
 * firewall4 with its own ucode and libc; what stands for the bus and for uci comes before its own.
 */
const IN_ROOT = [
  '--mount',
  'sh',
  '-ec',
  `mount --bind "$0" "$1/mnt"; exec chroot "$1" /usr/bin/ucode \\
  -L '/mnt/modules/*.uc' -L '/usr/lib/ucode/*.so' -L '/usr/share/ucode/*.uc' -S -T /usr/share/firewall4/main.uc`,
];

export class Kernel {
  readonly #folder = mkdtempSync(join(tmpdir(), 'sdewan-trace-'));
  readonly #root = rootFileSystem();

  constructor() {
    execFileSync('cc', ['-O1', '-o', join(this.#folder, 'packets'), join(HERE, 'packets.c')]);
    cpSync(join(HERE, 'modules'), join(this.#folder, 'modules'), { recursive: true });
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** As firewall4 renders it. */
  render(scene: Pick<Scene, 'sections'>): string {
    return this.#rendered(scene, { QUIET: '1' }).stdout;
  }

  /** What firewall4 says of the sections. */
  warnings(scene: Pick<Scene, 'sections'>): string {
    return this.#rendered(scene, {}).stderr;
  }

  #rendered(
    { sections }: Pick<Scene, 'sections'>,
    env: NodeJS.ProcessEnv,
  ): { stdout: string; stderr: string } {
    const file = join(this.#folder, 'scene.json');
    const scene = {
      sections: sections.map(({ name, type, anonymous, options }) => ({
        '.name': name,
        '.type': type,
        '.anonymous': anonymous,
        ...options,
      })),
      interfaces: DEVICES.map((name, at) => ({
        interface: `n${at}`,
        up: true,
        l3_device: name,
        device: name,
        'ipv4-address': [addressOf(ADDRESSES[at]?.[0] ?? '')],
        'ipv6-address': [addressOf(ADDRESSES[at]?.[1] ?? '')],
      })),
    };
    writeFileSync(file, JSON.stringify(scene));
    const { status, stdout, stderr } = spawnSync(
      'unshare',
      [...IN_ROOT, this.#folder, this.#root],
      {
        encoding: 'utf8',
        env: { ...process.env, SCENE: '/mnt/scene.json', ACTION: 'print', ...env },
      },
    );
    if (status !== 0) throw new Error(`firewall4 ends with ${status}: ${stderr}`);
    return { stdout, stderr };
  }

  /** `refused`: nft does not take what firewall4 has rendered. */
  async judge(scene: Scene): Promise<Judged | 'refused'> {
    const rules = this.render(scene);
    const processes: ChildProcessWithoutNullStreams[] = [];
    const start = (program: string, args: readonly string[]): ChildProcessWithoutNullStreams => {
      const child = spawn(program, [...args], { stdio: 'pipe' });
      child.stdin.on('error', () => undefined);
      processes.push(child);
      return child;
    };
    try {
      const [cnf, others] = ['cnf', 'others'].map(() => start('unshare', ['-n', 'cat']).pid);
      if (cnf === undefined || others === undefined) throw new Error('unshare did not start');
      await apart([cnf, others]);
      build(cnf, others);
      if (!isTaken(cnf, TRACED)) throw new Error('nft does not work here');
      if (!isTaken(cnf, rules)) return 'refused';
      const listing = execFileSync('nsenter', [...inside(cnf), 'nft', ...LIST], {
        encoding: 'utf8',
      });
      return { ...(await this.#send(scene, { start, cnf, others })), listing };
    } finally {
      for (const child of processes) child.kill('SIGKILL');
    }
  }

  async #send(scene: Scene, { start, cnf, others }: Started): Promise<Omit<Judged, 'listing'>> {
    const monitor = new Monitor();
    const nft = start('nsenter', [...inside(cnf), 'stdbuf', '-oL', 'nft', 'monitor', 'trace']);
    createInterface(nft.stdout).on('line', (line) => monitor.line(line));
    const program = join(this.#folder, 'packets');
    const outside = start('nsenter', [...inside(others), program, 'outside', ...PEERS]);
    const own = start('nsenter', [...inside(cnf), program, 'inside']);
    const arrived = new Map<number, Arrived>();
    const ready = new Set<string>();
    createInterface(own.stdout).on('line', () => ready.add('own'));
    createInterface(outside.stdout).on('line', (line) => {
      const [at = '', hex = ''] = line.split(' ');
      if (at === 'ready') ready.add('outside');
      else note(arrived, DEVICES[Number(at)] ?? '', Buffer.from(hex, 'hex'));
    });
    await until(() => ready.size === 2);
    const send = (packet: SentPacket, number: number): void => {
      if (packet.in === undefined) {
        const version = packet.source.includes(':') ? 6 : 4;
        own.stdin.write(`${version} ${packetBytes(packet, number).toString('hex')}\n`);
        return;
      }
      const at = DEVICES.findIndex((one) => one === packet.in);
      outside.stdin.write(`${at} ${frameOf(packet, number, MAC(at)).toString('hex')}\n`);
    };
    const isSeen = (number: number): Promise<void> =>
      until(() => {
        send(PROBE, number);
        return monitor.steps.has(number);
      });
    await isSeen(BEFORE);
    scene.packets.forEach((packet, at) => send(packet, at + 1));
    const numbers = scene.packets.map((_, at) => at + 1);
    const stepsOf = (number: number): readonly Step[] => monitor.steps.get(number) ?? [];
    await until(
      () => numbers.every((one) => isWhole(toldBy(stepsOf(one)), stepsOf(one))),
      1_500,
    ).catch(() => undefined);
    await isSeen(AFTER);
    return { judgements: numbers.map((one) => readingOf(stepsOf(one), arrived.get(one))) };
  }
}

type Started = {
  start: (program: string, args: readonly string[]) => ChildProcessWithoutNullStreams;
  cnf: number;
  others: number;
};

const PEERS = DEVICES.map((_, at) => `p${at}`);
const PROBE: SentPacket = {
  in: 'd0',
  source: '10.0.0.250',
  destination: '10.0.0.251',
  protocol: 253,
  dscp: 0,
};

const inside = (pid: number): string[] => ['-t', String(pid), '-n'];

const addressOf = (text: string) => {
  const [address, mask] = text.split('/');
  return { address, mask: Number(mask) };
};

/** Traced are packets from outside, and those that the program has sent. */
const TRACED = `table inet trace {
  chain pre { type filter hook prerouting priority -350; iifname "d*" meta nftrace set 1; }
  chain out { type filter hook output priority -350; meta skuid 12345 meta nftrace set 1; }
}`;

/** Until both processes are in namespaces of their own. */
const apart = (pids: readonly number[]): Promise<void> =>
  until(() => {
    const seen = new Set(
      [process.pid, ...pids].map((pid) =>
        execFileSync('readlink', [`/proc/${pid}/ns/net`], { encoding: 'utf8' }),
      ),
    );
    return seen.size === pids.length + 1;
  });

const build = (cnf: number, others: number): void => {
  const settings = [
    'net.ipv4.ip_forward=1',
    'net.ipv6.conf.all.forwarding=1',
    'net.ipv6.conf.all.accept_dad=0',
    'net.ipv6.conf.default.accept_dad=0',
    ...['all', 'default'].flatMap((one) => [
      `net.ipv4.conf.${one}.rp_filter=0`,
      `net.ipv4.conf.${one}.send_redirects=0`,
    ]),
  ];
  execFileSync('nsenter', [...inside(cnf), 'sysctl', '-qw', ...settings]);
  const lines = DEVICES.flatMap((name, at) => [
    `link add ${name} address ${MAC(at)} type veth peer name p${at} netns ${others}`,
    `link set ${name} arp off up`,
    ...(ADDRESSES[at] ?? []).map((one) => `address add ${one} dev ${name}`),
  ]);
  const batch = (pid: number, commands: readonly string[]): void => {
    execFileSync('nsenter', [...inside(pid), 'ip', '-batch', '-'], {
      input: `${commands.join('\n')}\n`,
    });
  };
  execFileSync('nsenter', [
    ...inside(others),
    'sysctl',
    '-qw',
    'net.ipv6.conf.default.disable_ipv6=1',
  ]);
  batch(cnf, ['link set lo up', ...lines]);
  batch(
    others,
    PEERS.map((name) => `link set ${name} arp off up`),
  );
  batch(
    cnf,
    ROUTES.map(({ to, device }) => `route add ${to} dev ${device}`),
  );
};

const isTaken = (pid: number, rules: string): boolean =>
  spawnSync('nsenter', [...inside(pid), 'nft', '-f', '-'], { input: rules }).status === 0;

const note = (arrived: Map<number, Arrived>, device: string, frame: Buffer): void => {
  const packet = received(frame);
  // What the CNF answers with has numbers of its own.
  if (packet && !arrived.has(packet.number)) arrived.set(packet.number, { device, packet });
};

const isWhole = (told: Told | undefined, steps: readonly Step[]): boolean =>
  told !== undefined && (told.verdict !== 'accept' || hasLeft(steps));

const hasLeft = (steps: readonly Step[]): boolean =>
  steps.some(({ chain }) => chain.startsWith('input') || chain.startsWith('mangle_postrouting'));

type Arrived = { device: string; packet: Received };

const readingOf = (steps: readonly Step[], arrived: Arrived | undefined): Judgement | undefined => {
  const told = toldBy(steps);
  return told && isWhole(told, steps) ? judgementOf(told, steps, arrived) : undefined;
};

const judgementOf = (
  told: Told,
  steps: readonly Step[],
  arrived: Arrived | undefined,
): Judgement | undefined => {
  const left = steps.some(({ chain }) => chain === 'mangle_postrouting');
  if (!left) return { ...told, left: '' };
  if (!arrived) return undefined;
  const { source, destination, sourcePort, destinationPort } = arrived.packet;
  return {
    ...told,
    left: leftText(arrived.device, [source, destination], [sourcePort, destinationPort]),
  };
};

const until = async (holds: () => boolean, ms = WAIT_MS): Promise<void> => {
  for (const end = Date.now() + ms; !holds(); await sleep(LOOK_MS))
    if (Date.now() > end) throw new Error('the kernel did not answer in time');
};
