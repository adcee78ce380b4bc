/**
 * Commit-confirm with packets that are really cut, on the device that the run was given with `--peer`: the API server is somebody who
 * listens at the other end of net1, and connections to it are made in the device's network.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { checkSpec } from '#shared/compile/check.ts';
import { kinds } from '#shared/resources/registry.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createLockOut, type LockOut } from '../../../agent/lock-out/lock-out.ts';
import { openRecord } from '../../../agent/lock-out/record.ts';
import { createTargets, type Target } from '../../../agent/lock-out/targets.ts';
import type { Following } from '../agent/support/converge.ts';
import { cr, deleted, firewallRule, zone, type TestPass } from '../agent/support/pass.ts';
import { namedDevice, otherDevice } from './named-device.ts';
import { onDevice, recordedPath, type Stage } from './stage.ts';
import { FOR_TUNNELS } from './tunnels.ts';

const API_SERVER = { host: '172.16.30.1', port: 7_999 };
const LISTEN = `
import socket
s = socket.create_server(("0.0.0.0", ${API_SERVER.port}), backlog=16)
while True: s.accept()[0].close()
`;
const CONNECT = `timeout 1 bash -c 'exec 3<>/dev/tcp/${API_SERVER.host}/${API_SERVER.port}'`;
const INSIDE = process.env['OPENWRT_INSIDE'] ?? '';
const WITHIN = { timeout: 120_000, interval: 200 };
const TIMEOUT_MS = 400_000;
/** As by default: what a device at high load takes to reload is within it. */
const DEADLINE_MS = 30_000;

const given = namedDevice();
const devices = given?.inside && given.peer ? [given] : [];
const other = otherDevice();

const psk = { authentication_method: 'psk', pre_shared_key: 'of-the-test-alone' };
/** From the agent to the API server, by the wire to another device, which takes the packets and answers none. */
const tunnel = (side: 1 | 2): object => {
  const ends = ['172.16.30.10/32', `${API_SERVER.host}/32`];
  const [local_subnet, remote_subnet] = side === 1 ? ends : ends.toReversed();
  const mode = side === 1 ? 'start' : 'add';
  const crypto_proposal = ['prop'];
  return {
    remote: `10.255.0.${3 - side}`,
    ...psk,
    crypto_proposal,
    connections: [
      { name: 'conn', conn_type: 'tunnel', mode, local_subnet, remote_subnet, crypto_proposal },
    ],
  };
};
const farEnd = cr('IpsecSite', 'end', tunnel(2));

/** Each takes packets to net1 away from the agent. */
const culprits: Record<string, RuleObject> = {
  rule: cr('FirewallRule', 'culprit', { dest: 'up', proto: 'all', target: 'DROP' }),
  zone: zone('culprit', 'ovn-net1', { output: 'DROP', input: 'DROP' }),
  // By net2, where nobody has the address of the next hop: the other ends are one host, which would answer on each.
  route: cr('CNFRoute', 'culprit', {
    dst: `${API_SERVER.host}/32`,
    gw: '172.16.40.99',
    dev: 'net2',
    table: 'default',
  }),
  ...(other && { 'IPsec site': cr('IpsecSite', 'culprit', tunnel(1)) }),
};

it.each(Object.entries(culprits))('the %s is one that its kind takes', (_what, { kind, spec }) => {
  const definition = kinds.find((one) => one.kind === kind);
  expect(definition && checkSpec(definition, spec)).not.toHaveProperty('problem');
});

describe.each(devices)('connections really cut on $url', (device) => {
  const { peer = () => '' } = device;
  const path = recordedPath(device);
  let stage: Stage;
  let otherStage: Stage | undefined;
  let lockOut: LockOut;
  let rules: readonly RuleObject[] | undefined = [];
  let agent: { pass: TestPass; following: Following; die: () => Promise<void> };
  let pid = '';

  /** Beside everything else: the agent runs in this process. */
  const isReached = (signal?: AbortSignal): Promise<boolean> =>
    new Promise((resolve) => {
      const [program = '', ...args] = INSIDE.split(' ');
      const options = { timeout: 5_000, ...(signal && { signal }) };
      execFile(program, [...args, 'bash', '-c', CONNECT], options, (error) =>
        resolve(error === null),
      );
    });
  const apiServer: Target = {
    name: 'the API server',
    patienceMs: 3_000,
    connect: async (signal) => {
      if (!(await isReached(signal))) throw new Error('no answer');
    },
  };

  const live = (pass: TestPass): typeof agent => {
    const stopping = new AbortController();
    const following = pass.follow(() => rules);
    const ended = lockOut.run(stopping.signal);
    return {
      pass,
      following,
      die: async () => {
        stopping.abort(new Error('killed'));
        await ended;
        await following.stop();
      },
    };
  };

  beforeAll(async () => {
    pid = peer(`timeout 1800 python3 -c '${LISTEN}' >/dev/null 2>&1 </dev/null & echo $!\n`).trim();
    stage = await onDevice(device, async (folder) => {
      const file = await openRecord(join(folder, 'lock-out.json'), silentLogger);
      return (driver) =>
        (lockOut = createLockOut({
          file,
          targets: createTargets([apiServer], systemClock),
          decisive: [apiServer],
          deadlineMs: DEADLINE_MS,
          purpose: 'cnf-1',
          driver,
          onChange: () => agent.following.mark(),
          clock: systemClock,
          log: silentLogger,
        }));
    });
    if (other) {
      otherStage = await onDevice(other);
      // The end of a tunnel must have an address of its side.
      other.inside?.(`ip addr replace ${API_SERVER.host}/32 dev lo\n`);
      await otherStage.pass.run([...FOR_TUNNELS, farEnd]);
    }
    agent = live(stage.pass);
  });
  const use = async (...next: RuleObject[]): Promise<void> => {
    rules = next;
    agent.following.mark();
    await sleep(100);
  };
  afterEach(async () => {
    await use(...(rules ?? []).map(deleted));
    await vi.waitFor(() => {
      if (Object.values(agent.pass.states()).some((state) => state !== 'Removed'))
        throw new Error('a rule is left');
    }, WITHIN);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await agent.die();
    await stage.leave();
    await otherStage?.pass.run([...FOR_TUNNELS, farEnd].map(deleted));
    await otherStage?.leave();
    other?.inside?.(`ip addr del ${API_SERVER.host}/32 dev lo\n`);
    peer(`kill ${pid}\n`);
  });

  const inner = zone('inner', 'ovn-priv-net', { output: 'ACCEPT', input: 'ACCEPT' });
  const up = zone('up', 'ovn-net1', { output: 'ACCEPT', input: 'ACCEPT' });
  const withOthers = (what: string, culprit: RuleObject): RuleObject[] => [
    ...(what === 'zone' ? [] : [up]),
    ...(what === 'IPsec site' ? FOR_TUNNELS : []),
    inner,
    firewallRule('aa', { src: 'inner' }),
    firewallRule('zz', { src: 'inner' }),
    culprit,
  ];
  const becomesReached = (reached: boolean): Promise<void> =>
    vi.waitFor(async () => expect(await isReached()).toBe(reached), WITHIN);
  const leftOut = (all: readonly RuleObject[]): Promise<void> =>
    vi.waitFor(() => {
      expect(agent.pass.states()).toEqual({
        ...Object.fromEntries(all.map(({ metadata }) => [metadata.name, 'Applied'])),
        culprit: 'Failed: LostConnectivity',
      });
    }, WITHIN);

  it.each(Object.entries(culprits))(
    'a %s: undone, found, left out',
    async (what, culprit) => {
      await becomesReached(true);
      const all = withOthers(what, culprit);
      await use(...all);
      await becomesReached(false);
      const cutAt = performance.now();
      await becomesReached(true);
      console.log(`${path}, ${what}: back after ${Math.round(performance.now() - cutAt)} ms`);
      await leftOut(all);
      expect(await isReached()).toBe(true);
    },
    TIMEOUT_MS,
  );

  it.each(Object.entries(culprits))(
    'a %s, and the agent dies while it is cut off: undone by the next one, found, left out',
    async (what, culprit) => {
      await becomesReached(true);
      const all = withOthers(what, culprit);
      await use(...all);
      await becomesReached(false);
      await agent.die();
      // Without an API server nobody lists them.
      rules = undefined;
      agent = live(await stage.restarted());
      const startedAt = performance.now();
      await becomesReached(true);
      const tookMs = Math.round(performance.now() - startedAt);
      console.log(`${path}, ${what}: back ${tookMs} ms after the next agent's start`);
      await use(...all);
      await leftOut(all);
      expect(await isReached()).toBe(true);
    },
    TIMEOUT_MS,
  );
});
