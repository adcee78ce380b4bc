/** Two pods of one network, whose gateway enforces a policy between them: their packets do not come to it, so they pass; and the status says so. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { wholeFile } from '#shared/policy/table.ts';
import { tableOf } from '../product.ts';

const name = (of: string): string => `sdewan-${process.pid}-n-${of}`;
const ADDRESSES = { a: '10.61.0.2', b: '10.61.0.3', far: '10.62.0.2' };
/** `lan`: the bridge that a node has, with the two pods and the CNF at it. */
const ALL = ['lan', 'cnf', 'a', 'b', 'far'];
const PORT = 7777;

const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8' });
const inside = (of: string, ...args: string[]): string =>
  execFileSync('ip', ['netns', 'exec', name(of), ...args], { encoding: 'utf8' });

/** Whether a connection comes about. */
const answers = (from: string, to: string): boolean => {
  try {
    inside(from, process.execPath, '-e', CONNECT, to, String(PORT));
    return true;
  } catch {
    return false;
  }
};
const CONNECT = `const [to, port] = process.argv.slice(1);
const socket = require('node:net').connect(Number(port), to, () => process.exit(0));
socket.setTimeout(1500, () => process.exit(1)); socket.on('error', () => process.exit(1));`;
const LISTEN = `require('node:net').createServer((s) => s.destroy()).listen(${PORT}, () => console.log('ready'));`;

const listeners: ChildProcess[] = [];
beforeAll(async () => {
  for (const of of ALL) ip('netns', 'add', name(of));
  inside('cnf', 'sysctl', '-qw', 'net.ipv4.ip_forward=1');
  ip('-n', name('lan'), 'link', 'add', 'net1', 'type', 'bridge');
  ip('-n', name('lan'), 'link', 'set', 'net1', 'up');
  for (const [of, address] of Object.entries({ ...ADDRESSES, cnf: '10.61.0.1' })) {
    const other = name(of === 'far' ? 'cnf' : 'lan');
    ip('-n', name(of), 'link', 'add', 'eth0', 'type', 'veth', 'peer', `to-${of}`, 'netns', other);
    ip('-n', name(of), 'addr', 'add', `${address}/24`, 'dev', 'eth0');
    ip('-n', name(of), 'link', 'set', 'eth0', 'up');
    if (of === 'far') ip('-n', other, 'addr', 'add', '10.62.0.1/24', 'dev', `to-${of}`);
    else ip('-n', other, 'link', 'set', `to-${of}`, 'master', 'net1');
    ip('-n', other, 'link', 'set', `to-${of}`, 'up');
    if (of !== 'cnf')
      ip('-n', name(of), 'route', 'add', 'default', 'via', address.replace(/\d+$/, '1'));
  }
  const listener = spawn('ip', ['netns', 'exec', name('a'), process.execPath, '-e', LISTEN]);
  listeners.push(listener);
  await new Promise((resolve) => listener.stdout.once('data', resolve));
});
afterAll(() => {
  for (const listener of listeners) listener.kill();
  for (const of of ALL) ip('netns', 'delete', name(of));
});

it('a packet between the two passes, and one that the gateway forwards does not', () => {
  const pod = (of: keyof typeof ADDRESSES) => ({
    namespace: 'x',
    name: of,
    labels: { pod: of },
    addresses: [ADDRESSES[of]],
    ports: [],
  });
  const table = tableOf({
    namespaces: { x: {} },
    pods: [pod('a'), pod('b'), pod('far')],
    policies: [
      {
        namespace: 'x',
        name: 'nobody',
        spec: { podSelector: { matchLabels: { pod: 'a' } }, policyTypes: ['Ingress'] },
      },
    ],
  });
  expect(answers('far', ADDRESSES.a)).toBe(true);
  execFileSync('ip', ['netns', 'exec', name('cnf'), 'nft', '-f', '-'], {
    input: wholeFile(table),
  });
  expect(answers('far', ADDRESSES.a)).toBe(false);
  expect(answers('b', ADDRESSES.a)).toBe(true);
});
