/**
 * Tables of policies in a kernel, one after the other, while packets pass. In namespaces of its
 * own, so that it needs no root: run it by `unshare -rn`. Reads `{tables, from, to}` on stdin: nft
 * files as an agent loads them, and addresses of pods, each of the first of which sends to each of
 * the second all the time, never in a flow that the kernel knows. Prints `{sent, arrived}`, counted
 * by the kernels of both ends: pairs of addresses, and the packets of each.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readlinkSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const GATEWAY = '169.254.1.1';
/** A packet of each pair in each, between two tables. */
const ROUNDS = 20;
const SEND = `const [from, to] = process.argv.slice(1).map((text) => text.split(','));
const sockets = from.map((address) => {
  const socket = require('node:dgram').createSocket('udp4');
  socket.bind(0, address);
  return socket;
});
let port = 1_024;
setInterval(() => {
  port = port < 65_000 ? port + 1 : 1_024;
  for (const socket of sockets) for (const address of to) socket.send('?', port, address);
  console.log(port);
}, 5);`;

const run = (command, args, input = '') =>
  execFileSync(command, args, { input, encoding: 'utf8', maxBuffer: 2 ** 26 });
const namespaceOf = (pid) => readlinkSync(`/proc/${pid}/ns/net`);

/** Those of the pods with these addresses, all in one. */
const createPods = async (device, addresses) => {
  // It ends with this process, however that ends.
  const holder = spawn('unshare', ['-n', 'cat'], { stdio: ['pipe', 'ignore', 'inherit'] });
  while (namespaceOf(holder.pid) === namespaceOf('self')) await sleep(5);
  const inside = (...args) => ['-t', String(holder.pid), '-n', ...args];
  const routes = addresses.map((address) => `route add ${address}/32 dev ${device}\n`);
  run(
    'ip',
    ['-batch', '-'],
    `link add ${device} type veth peer name eth0 netns ${holder.pid}
link set ${device} up
addr add ${GATEWAY}/32 dev ${device}
${routes.join('')}`,
  );
  const own = addresses.map((address) => `addr add ${address}/32 dev eth0\n`);
  run(
    'nsenter',
    inside('ip', '-batch', '-'),
    `link set eth0 up\n${own.join('')}route add ${GATEWAY}/32 dev eth0\nroute add default via ${GATEWAY}\n`,
  );
  return { inside, end: () => holder.kill() };
};
const counted = (hook) => `table ip counted {
  set pairs { type ipv4_addr . ipv4_addr; flags dynamic; size 65535; counter; }
  chain seen { type filter hook ${hook} priority -400; udp dport >= 1024 update @pairs { ip saddr . ip daddr counter } ${hook === 'prerouting' ? 'drop' : ''}; }
}\n`;
const countsIn = (pods) => {
  const list = run('nsenter', pods.inside('nft', '-j', 'list', 'set', 'ip', 'counted', 'pairs'));
  const { set } = JSON.parse(list).nftables.find((one) => one.set);
  return Object.fromEntries(
    (set.elem ?? []).map(({ elem }) => [elem.val.concat.join(' '), elem.counter.packets]),
  );
};

const { tables, from, to } = JSON.parse(readFileSync(0, 'utf8'));
const [senders, receivers] = [await createPods('from', from), await createPods('to', to)];
run('sh', ['-c', 'echo 1 >/proc/sys/net/ipv4/ip_forward']);
run('nsenter', senders.inside('nft', '-f', '-'), counted('postrouting'));
run('nsenter', receivers.inside('nft', '-f', '-'), counted('prerouting'));
const [first, ...others] = tables;
run('nft', ['-f', '-'], first);
const args = senders.inside(process.execPath, '-e', SEND, from.join(','), to.join(','));
const sender = spawn('nsenter', args, { stdio: ['ignore', 'pipe', 'inherit'] });
const rounds = createInterface({ input: sender.stdout });
for (const table of others) {
  for (let round = 0; round < ROUNDS; round += 1) await once(rounds, 'line');
  run('nft', ['-f', '-'], table);
}
for (let round = 0; round < ROUNDS; round += 1) await once(rounds, 'line');
sender.kill();
await once(sender, 'exit');
const [sent, arrived] = [senders, receivers].map(countsIn);
for (const pods of [senders, receivers]) pods.end();
console.log(JSON.stringify({ sent, arrived }));
