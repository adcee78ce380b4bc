/**
 * Commit-confirm with packets that are really cut, on the device that the run was given with
 * `--peer`: the API server listens at the other end of net1, and connections to it are made in the
 * device's network.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { checkSpec } from '#shared/compile/check.ts';
import { kinds } from '#shared/resources/registry.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { cr, deleted, firewallRule, zone } from '../agent/support/pass.ts';
import { API_SERVER, isReached, LISTEN } from './api-server-of-peer.ts';
import { namedDevice, otherDevice } from './named-device.ts';
import { onDevice, recordedPath, type Stage } from './stage.ts';
import { FOR_TUNNELS } from './tunnels.ts';

const AGENT = join(import.meta.dirname, 'watched-agent.ts');
const INSIDE = process.env['OPENWRT_INSIDE'] ?? '';
const WITHIN = { timeout: 120_000, interval: 200 };
const TIMEOUT_MS = 400_000;

const given = namedDevice();
const devices = given?.inside && given.peer ? [given] : [];
const other = otherDevice();

const psk = { authentication_method: 'psk', pre_shared_key: 'of-the-test-alone' };
/**
 * From the agent to the API server, by the wire to another device, which takes the packets and
 * answers none.
 */
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

type Agent = {
  /** Since it was told of rules; undefined until then. */
  states: () => Record<string, string> | undefined;
  tell: (rules: readonly RuleObject[]) => void;
  /** Nothing of it is left but its files, and what it has asked of OpenWRT. */
  kill: () => Promise<void>;
  end: () => Promise<void>;
};

/** A process, with the files of the one before it. */
const live = async (folder: string): Promise<Agent> => {
  const child = fork(AGENT, [folder], { execArgv: [] });
  const exited = once(child, 'exit');
  let states: Record<string, string> | undefined;
  await once(child, 'message');
  child.on('message', (message) => {
    states = z.record(z.string(), z.string()).parse(message);
  });
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await exited;
  };
  return {
    states: () => states,
    tell: (rules) => {
      states = undefined;
      child.send({ rules });
    },
    kill: () => end('SIGKILL'),
    end: () => end('SIGTERM'),
  };
};

/** Each takes packets to net1 away from the agent. */
const culprits: Record<string, RuleObject> = {
  rule: cr('FirewallRule', 'culprit', { dest: 'up', proto: 'all', target: 'DROP' }),
  zone: zone('culprit', 'ovn-net1', { output: 'DROP', input: 'DROP' }),
  // By net2, where no host has the address of the next hop: the other ends are one host, which
  // would answer on each.
  route: cr('CNFRoute', 'culprit', {
    dst: `${API_SERVER.host}/32`,
    gw: '172.16.40.99',
    dev: 'net2',
    table: 'default',
  }),
  ...(other && { 'IPsec site': cr('IpsecSite', 'culprit', tunnel(1)) }),
};

it.each(Object.entries(culprits))(
  'makes the %s one that its kind takes',
  (_what, { kind, spec }) => {
    const definition = kinds.find((one) => one.kind === kind);
    expect(definition && checkSpec(definition, spec)).not.toHaveProperty('problem');
  },
);

describe.each(devices)('connections really cut on $url', (device) => {
  const { peer = () => '' } = device;
  const path = recordedPath(device);
  let stage: Stage;
  let otherStage: Stage | undefined;
  let rules: readonly RuleObject[] = [];
  let agent: Agent;
  let pid = '';
  const folder = mkdtempSync(join(tmpdir(), 'sdewan-commit-confirm-'));

  beforeAll(async () => {
    pid = peer(`timeout 1800 python3 -c '${LISTEN}' >/dev/null 2>&1 </dev/null & echo $!\n`).trim();
    stage = await onDevice(device);
    if (other) {
      otherStage = await onDevice(other);
      // The end of a tunnel must have an address of its side.
      other.inside?.(`ip addr replace ${API_SERVER.host}/32 dev lo\n`);
      await otherStage.pass.run([...FOR_TUNNELS, farEnd]);
    }
    agent = await live(folder);
  });
  const use = (...next: RuleObject[]): void => {
    rules = next;
    agent.tell(rules);
  };
  afterEach(async () => {
    use(...rules.map(deleted));
    await vi.waitFor(() => {
      const states = agent.states();
      if (!states || Object.values(states).some((state) => state !== 'Removed'))
        throw new Error('a rule is left');
    }, WITHIN);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await agent.end();
    rmSync(folder, { recursive: true });
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
    vi.waitFor(async () => expect(await isReached(INSIDE)).toBe(reached), WITHIN);
  const leftOut = (all: readonly RuleObject[]): Promise<void> =>
    vi.waitFor(() => {
      expect(agent.states()).toEqual({
        ...Object.fromEntries(all.map(({ metadata }) => [metadata.name, 'Applied'])),
        culprit: 'Failed: LostConnectivity',
      });
    }, WITHIN);

  it.each(Object.entries(culprits))(
    'undoes a %s, finds it and leaves it out',
    async (what, culprit) => {
      await becomesReached(true);
      const all = withOthers(what, culprit);
      use(...all);
      await becomesReached(false);
      const cutAt = performance.now();
      await becomesReached(true);
      console.log(`${path}, ${what}: back after ${Math.round(performance.now() - cutAt)} ms`);
      await leftOut(all);
      expect(await isReached(INSIDE)).toBe(true);
    },
    TIMEOUT_MS,
  );

  it.each(Object.entries(culprits))(
    'undoes a %s by the next agent when one is killed while it is cut off, finds it and leaves it out',
    async (what, culprit) => {
      await becomesReached(true);
      const all = withOthers(what, culprit);
      use(...all);
      await becomesReached(false);
      await agent.kill();
      // Without an API server it is not told of rules.
      agent = await live(folder);
      const startedAt = performance.now();
      await becomesReached(true);
      const tookMs = Math.round(performance.now() - startedAt);
      console.log(`${path}, ${what}: back ${tookMs} ms after the next agent's start`);
      use(...all);
      await leftOut(all);
      expect(await isReached(INSIDE)).toBe(true);
    },
    TIMEOUT_MS,
  );
});
