/**
 * Two pods of a CNF, as namespaces at one bridge, with a real keepalived each, which reads what
 * OpenWRT makes of the UCI that the product writes. A third one asks who answers at the virtual
 * address.
 */
import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRunning } from 'kind-test-harness';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFailed } from 'vitest';
import { compile } from '#shared/compile/compile.ts';
import { inputOf, ruleOf } from '#shared/compile/testing.ts';
import { confOf } from '../../openwrt/simulator/programs/keepalived.ts';

const PODS = { one: ['10.77.0.2', 'fd77::2'], two: ['10.77.0.3', 'fd77::3'] } as const;
type Pod = keyof typeof PODS;
const NAMES = ['one', 'two'] as const satisfies Pod[];
const PORT = 7777;
const name = (of: string): string => `sdewan-${process.pid}-v-${of}`;
const ALL = ['lan', 'asker', ...NAMES];

const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8' });
const inside = (of: string, ...args: string[]): string[] => ['netns', 'exec', name(of), ...args];

const ADDRESS = { 4: '10.77.0.1', 6: 'fd77::1' };
const SPECS = {
  'the addresses of the other pod': { addresses: [`${ADDRESS[4]}/24`] },
  multicast: { addresses: [`${ADDRESS[4]}/24`], peers: 'multicast' },
  'the addresses of the other pod, by IPv6': { addresses: [`${ADDRESS[6]}/64`] },
};

/** What keepalived of that pod reads at that distance. */
const textOf = (pod: Pod, distance: number, spec: object): string => {
  const peers = Object.entries(PODS).flatMap(([other, its]) => (other === pod ? [] : its));
  const rule = ruleOf('VirtualAddress', 'gateway', { interface: 'net1', ...spec });
  const own = new Map([['net1', PODS[pod]]]);
  const place = { distance, peers: new Map([['net1', peers]]), own };
  const { desired, verdicts } = compile(inputOf([rule], { place }));
  expect(verdicts).toMatchObject([{ verdict: 'wanted' }]);
  const sections = desired.get('keepalived') ?? [];
  return confOf(
    sections.map((section) => ({ ...section, options: new Map(Object.entries(section.options)) })),
  );
};

let folder = '';
const running = new Map<string, ChildProcess>();
const fileOf = (pod: Pod): string => join(folder, `${pod}.conf`);
/**
 * What programs in the pods print: it belongs to a failure only, and one that is left behind holds
 * no output of the run open.
 */
const logOf = (): string => join(folder, 'log');

const start = (of: string, pod: Pod, ...command: string[]): ChildProcess => {
  const log = openSync(logOf(), 'a');
  const child = spawn('ip', inside(pod, ...command), { stdio: ['ignore', 'pipe', log] });
  closeSync(log);
  running.set(of, child);
  return child;
};
const startOf = (pod: Pod): void => {
  const files = ['-p', join(folder, `${pod}.pid`), '-r', join(folder, `${pod}-vrrp.pid`)];
  start(pod, pod, 'keepalived', '-n', '-P', '-l', '-f', fileOf(pod), ...files);
};
/** By themselves. */
const ended = (): string[] => [...running].flatMap(([of, child]) => (isRunning(child) ? [] : [of]));
const endOf = async (of: string): Promise<void> => {
  const child = running.get(of);
  running.delete(of);
  if (child === undefined || !isRunning(child)) return;
  child.kill();
  await once(child, 'exit');
};
const setDistance = (pod: Pod, distance: number, spec: object): void => {
  writeFileSync(fileOf(pod), textOf(pod, distance, spec));
  running.get(pod)?.kill('SIGHUP');
};

const ASK = `const [address, port] = process.argv.slice(1);
const socket = require('node:net').connect(Number(port), address);
socket.setTimeout(1500, () => process.exit(1)); socket.on('error', () => process.exit(1));
socket.on('data', (data) => { console.log(String(data)); process.exit(0); });`;
/**
 * A connection is reset when the address goes to the other pod amid it, which is no reason to end.
 */
const ANSWER = `require('node:net').createServer((s) => s.on('error', () => undefined).end(process.argv[1]))
.listen(${PORT}, '::', () => console.log('ready'));`;

/** Which pod answers at the address; undefined: none. */
const answering = (address: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const args = inside('asker', process.execPath, '-e', ASK, address, String(PORT));
    execFile('ip', args, (_error, stdout) => resolve(stdout.trim() || undefined));
  });
const TIMES = 120;
const answers = async (address: string, pod: Pod | undefined): Promise<void> => {
  let last: string | undefined;
  for (let time = 0; time < TIMES; time += 1) {
    last = await answering(address);
    expect(ended()).toEqual([]);
    if (last === pod) return;
    await sleep(250);
  }
  expect(last).toBe(pod);
};
/** As many clouds do: adverts that do not go to the addresses of the pods go nowhere. */
const DROP = `table bridge adverts { chain forward { type filter hook forward priority 0;
  ip daddr 224.0.0.18 drop; ip6 daddr ff02::12 drop; }; }`;
const dropMulticast = (isDropped: boolean): void => {
  const nft = ['nft', isDropped ? DROP : 'delete table bridge adverts'];
  ip(...inside('lan', ...nft));
};
const holders = (address: string): string[] =>
  NAMES.filter((pod) =>
    ip('-n', name(pod), '-o', 'addr', 'show', 'dev', 'net1').includes(` ${address}/`),
  );

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sdewan-vrrp-'));
  for (const of of ALL) ip('netns', 'add', name(of));
  ip('-n', name('lan'), 'link', 'add', 'net1', 'type', 'bridge');
  ip('-n', name('lan'), 'link', 'set', 'net1', 'up');
  for (const [of, addresses] of Object.entries({ ...PODS, asker: ['10.77.0.9', 'fd77::9'] })) {
    const peer = ['peer', 'name', `to-${of}`, 'netns', name('lan')];
    ip('-n', name(of), 'link', 'add', 'net1', 'type', 'veth', ...peer);
    ip('-n', name(of), 'addr', 'add', `${addresses[0]}/24`, 'dev', 'net1');
    ip('-n', name(of), 'addr', 'add', `${addresses[1]}/64`, 'dev', 'net1', 'nodad');
    ip('-n', name('lan'), 'link', 'set', `to-${of}`, 'master', 'net1', 'up');
    ip('-n', name(of), 'link', 'set', 'net1', 'up');
  }
  for (const pod of NAMES) {
    const { stdout } = start(`${pod}'s listener`, pod, process.execPath, '-e', ANSWER, pod);
    if (stdout) await once(stdout, 'data');
  }
});
afterAll(async () => {
  for (const of of running.keys()) await endOf(of);
  for (const of of ALL) ip('netns', 'delete', name(of));
  rmSync(folder, { recursive: true });
});

beforeEach(() => {
  onTestFailed(() => console.error(readFileSync(logOf(), 'utf8')));
});

describe.each(Object.entries(SPECS))('by %s, the virtual address', (_by, spec) => {
  const address = spec.addresses[0]?.includes(':') === true ? ADDRESS[6] : ADDRESS[4];

  const isUnicast = !('peers' in spec);
  beforeAll(() => {
    if (isUnicast) dropMulticast(true);
  });
  // Whatever became of a test: the next ones begin without keepalived and with both pods connected.
  afterAll(async () => {
    for (const pod of NAMES) await endOf(pod);
    ip('-n', name('lan'), 'link', 'set', 'to-one', 'up');
    if (isUnicast) dropMulticast(false);
  });

  it('is held by a lone pod, at whatever distance', async () => {
    setDistance('two', 3, spec);
    startOf('two');
    await answers(address, 'two');
    expect(holders(address)).toEqual(['two']);
  });

  it('goes to the nearest when that comes', async () => {
    setDistance('one', 0, spec);
    startOf('one');
    await answers(address, 'one');
    expect(holders(address)).toEqual(['one']);
  });

  it('goes over with the distances, and no keepalived has started anew', async () => {
    const before = [...running];
    setDistance('two', 0, spec);
    setDistance('one', 3, spec);
    await answers(address, 'two');
    expect(holders(address)).toEqual(['two']);
    setDistance('one', 0, spec);
    setDistance('two', 1, spec);
    await answers(address, 'one');
    expect([...running]).toEqual(before);
    expect(ended()).toEqual([]);
  });

  it('answers from the standby after the active pod has been cut off, and from it again when it is back', async () => {
    ip('-n', name('lan'), 'link', 'set', 'to-one', 'down');
    await answers(address, 'two');
    ip('-n', name('lan'), 'link', 'set', 'to-one', 'up');
    await answers(address, 'one');
    expect(holders(address)).toEqual(['one']);
  });

  it('answers from nowhere when keepalived has ended on both', async () => {
    await endOf('one');
    await answers(address, 'two');
    await endOf('two');
    await answers(address, undefined);
    expect(holders(address)).toEqual([]);
  });
});
