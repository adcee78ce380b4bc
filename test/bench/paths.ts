/**
 * What 200 and 1,000 mixed rules cost on each way to write an OpenWRT: requests, calls, transactions, service actions, time. On the
 * simulator with the times of a real one (`uci` calls that slow down with what is staged, 0.6 ms of `fw4 reload` per rule). For each
 * call of ICN's REST it parses and writes the package, which takes it about as long as a real CNF's process (12 to 81 ms, measured).
 *
 *     node test/bench/paths.ts [number of rules…]
 *
 * With a device of test/openwrt-device the same on a real OpenWRT, where only requests, calls and times are seen, and `uci apply` counts as
 * a write. USER is `sdewan` for the fast way and `staged` for the other; it needs the device for itself.
 *
 *     node test/bench/paths.ts --url URL --inside CMD --user USER [number of rules…]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { RuleObject } from '#shared/kube/objects.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import type { Driver } from '../../agent/device/driver.ts';
import { createIcnDriver } from '../../agent/device/icn/driver.ts';
import { createUbusDriver } from '../../agent/device/ubus/driver.ts';
import { unconfirmedInMemory } from '../../agent/device/ubus/write/testing.ts';
import {
  startOpenwrt,
  type OpenwrtOptions,
  type TestOpenwrt,
} from '../contract/agent/support/openwrt.ts';
import {
  cr,
  deleted,
  openPass,
  PACKAGES,
  zone,
  type TestPass,
} from '../contract/agent/support/pass.ts';
import { namedDevice } from '../contract/conformance/named-device.ts';
import { onDevice } from '../contract/conformance/stage.ts';

type Path = { options: OpenwrtOptions; driver: (url: string, openwrt: TestOpenwrt) => Driver };

const ubus: Path['driver'] = (url, { usernameFile, passwordFile }) =>
  createUbusDriver({
    packages: PACKAGES,
    unconfirmed: unconfirmedInMemory(),
    target: { url, usernameFile, passwordFile },
    clock: systemClock,
    log: silentLogger,
  });

const icn: Path['driver'] = (url, { usernameFile, passwordFile }) =>
  createIcnDriver({
    target: { url, usernameFile, passwordFile },
    reassertMs: 0,
    clock: systemClock,
  });

const paths: Readonly<Record<string, Path>> = {
  'ubus, fast': { options: { login: 'own' }, driver: ubus },
  'ubus, staged': { options: { login: 'stock' }, driver: ubus },
  icn: { options: { login: 'stock', apis: ['icn'] }, driver: icn },
};

type Traffic = { requests: number; calls: number; applies: number };

/** Passes everything on and counts it; a batch of JSON-RPC is one request and several calls. */
const countingProxy = async (
  target: string,
): Promise<{ url: string; traffic: Traffic; server: Server }> => {
  const traffic = { requests: 0, calls: 0, applies: 0 };
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body = Buffer.concat(chunks);
      const text = body.toString('latin1');
      traffic.requests += 1;
      traffic.calls += Math.max(1, text.split('"method":"call"').length - 1);
      traffic.applies += text.split('"uci","apply"').length - 1;
      const { method, url, headers } = incoming;
      const forwarded = request(
        new URL(url ?? '/', target),
        {
          ...(method !== undefined && { method }),
          headers: { ...headers, connection: 'close' },
          agent: false,
        },
        (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(outgoing);
        },
      );
      forwarded.on('error', () => outgoing.destroy());
      forwarded.end(body);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return { url: `http://127.0.0.1:${address.port}`, traffic, server };
};

/** Of ten: six rules, two DNATs, one SNAT, one mwan3 rule; every API can hold them. */
const mixed = (count: number): RuleObject[] => [
  zone('lan1', 'ovn-net1'),
  zone('wan1', 'ovn-net2'),
  cr('Mwan3Policy', 'pol', { members: [{ network: 'ovn-net1', metric: 1, weight: 1 }] }),
  ...Array.from({ length: count - 3 }, (_, index) => {
    const port = String(1_000 + index);
    switch (index % 10) {
      case 6:
      case 7:
        return cr('FirewallDNAT', `dnat${index}`, {
          src: 'wan1',
          proto: 'tcp',
          src_dport: port,
          dest_ip: '10.1.2.3',
          dest_port: '80',
        });
      case 8:
        return cr('FirewallSNAT', `snat${index}`, {
          src: 'lan1',
          // A real firewall4 asks for it, since it does not look at the zone.
          src_ip: '10.0.0.0/8',
          dest: 'wan1',
          proto: 'tcp',
          src_dip: '10.9.9.9',
          dest_port: port,
        });
      case 9:
        return cr('Mwan3Rule', `m${index}`, {
          policy: 'pol',
          src_ip: '0.0.0.0/0',
          dest_ip: '10.0.0.0/8',
          dest_port: port,
          proto: 'tcp',
          family: 'ipv4',
        });
      default:
        return rule(index, port);
    }
  }),
];

const rule = (index: number, port: string, generation = 1): RuleObject =>
  cr(
    'FirewallRule',
    `rule${index}`,
    { src: 'lan1', proto: 'tcp', dest_port: port, target: 'REJECT' },
    { generation },
  );

const measure = async (
  name: string,
  { options, driver: create }: Path,
  count: number,
): Promise<void> => {
  const openwrt = await startOpenwrt({
    time: 'real',
    journalTexts: false,
    ...options,
  });
  const { url, traffic, server } = await countingProxy(openwrt.simulator.url);
  const driver = create(url, openwrt);
  const pass = await openPass(openwrt, { driver });
  await runSteps({ name, pass, count, seen: () => ({ ...traffic, ...eventsOf(openwrt) }) });
  await driver.close();
  server.close();
  await openwrt.stop();
};

type DeviceOptions = { url: string; inside: string; user: string };

const measureDevice = async (
  { url: deviceUrl, inside: command, user }: DeviceOptions,
  count: number,
): Promise<void> => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sdewan-bench-'));
  const passwordFile = path.join(folder, 'password');
  writeFileSync(passwordFile, 'sdewan', { mode: 0o600 });
  const { url, traffic, server } = await countingProxy(deviceUrl);
  const device = namedDevice({
    OPENWRT_URL: url,
    OPENWRT_USER: user,
    OPENWRT_PASSWORD_FILE: passwordFile,
    OPENWRT_INSIDE: command,
  });
  if (device === undefined) throw new Error('no device');
  const stage = await onDevice(device);
  const seen = (): Seen => ({
    ...traffic,
    listings: 0,
    writes: traffic.applies,
    actions: 0,
    byProcd: 0,
  });
  await runSteps({ name: `${user} on a device`, pass: stage.pass, count, seen });
  await stage.leave();
  server.close();
  rmSync(folder, { recursive: true });
};

type Seen = Traffic & Events;

const runSteps = async ({
  name,
  pass,
  count,
  seen,
}: {
  name: string;
  pass: TestPass;
  count: number;
  seen: () => Seen;
}): Promise<void> => {
  const rules = mixed(count);
  const changed = rules.map((one) => (one.metadata.name === 'rule0' ? rule(0, '9', 2) : one));
  const inserted = [
    ...rules,
    cr(
      'FirewallRule',
      'first',
      { src: 'lan1', target: 'DROP' },
      { creationTimestamp: '2025-01-01T00:00:00Z' },
    ),
  ];
  const steps: [string, RuleObject[]][] = [
    [`${count} new`, rules],
    ['one changed', changed],
    ['one put first', inserted],
    ['all removed', inserted.map(deleted)],
    ['nothing', []],
  ];
  for (const [what, desired] of steps) {
    const before = seen();
    const start = performance.now();
    await pass.run(desired);
    const seconds = (performance.now() - start) / 1_000;
    const states = Object.values(pass.states());
    const wanted = what === 'all removed' ? 'Removed' : 'Applied';
    if (states.length !== desired.length || states.some((state) => state !== wanted))
      throw new Error(
        `${name}, ${what}: ${JSON.stringify(
          pass
            .reports()
            .filter((one) => one.state !== wanted)
            .slice(0, 2),
        )} ${[...new Set(states)].join(', ')}`,
      );
    // procd reloads behind the answer.
    await systemClock.sleep(200);
    const after = seen();
    row([
      name,
      what,
      String(after.requests - before.requests),
      String(after.calls - before.calls),
      String(after.listings - before.listings),
      String(after.writes - before.writes),
      String(after.actions - before.actions),
      String(after.byProcd - before.byProcd),
      seconds.toFixed(2),
    ]);
  }
};

/** `byProcd`: of the actions, those that OpenWRT starts by itself when a package was committed. */
type Events = { listings: number; writes: number; actions: number; byProcd: number };

const eventsOf = ({ simulator }: TestOpenwrt): Events => {
  const entries = simulator.journal();
  const actions = entries.filter((entry) => entry.event === 'reload');
  return {
    listings: simulator.restCalls().filter((call) => call.startsWith('GET ')).length,
    writes: entries.filter(({ event }) => event === 'write').length,
    actions: actions.length,
    byProcd: actions.filter(({ by }) => by.call === 'procd').length,
  };
};

const row = (cells: readonly string[]): void => console.log(`| ${cells.join(' | ')} |`);

const { values, positionals } = parseArgs({
  options: { url: { type: 'string' }, inside: { type: 'string' }, user: { type: 'string' } },
  allowPositionals: true,
});
const given = positionals.map(Number);
const counts = given.length > 0 ? given : [200, 1_000];
const HEAD =
  'path | rules | requests | calls | listings | package writes | service actions | of them by procd | seconds'.split(
    ' | ',
  );
row(HEAD);
row(HEAD.map(() => '---'));
const { url, inside, user = 'sdewan' } = values;
if (url !== undefined && inside !== undefined)
  for (const count of counts) await measureDevice({ url, inside, user }, count);
else
  for (const [name, way] of Object.entries(paths))
    for (const count of counts) await measure(name, way, count);
