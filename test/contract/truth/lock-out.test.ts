/**
 * Commit-confirm on each driver: a rule, a zone, a route and an IPsec site that cut the agent off, by a simulator that answers and an API
 * server that is reached as long as OpenWRT does not hold the culprit. Each is undone, found and left out, and all others are applied, also
 * when the agent is killed on the way.
 */
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createLockOut, type LockOut } from '../../../agent/lock-out/lock-out.ts';
import { openRecord } from '../../../agent/lock-out/record.ts';
import { createTargets, type Target } from '../../../agent/lock-out/targets.ts';
import { icnDriver, ICN_PACKAGES, startIcn } from '../agent/support/icn-rest.ts';
import { startOpenwrt, type TestOpenwrt } from '../agent/support/openwrt.ts';
import { cr, firewallRule, openPass, zone, type TestPass } from '../agent/support/pass.ts';
import type { Following } from '../agent/support/converge.ts';

const PACKAGES = [...new Set([...ICN_PACKAGES, 'network'])];

let openwrt: TestOpenwrt;
let agent: TestPass;
let rules: readonly RuleObject[] = [];
let culprit = '';
let running: { following: Following; stopping: AbortController; ended: Promise<void> } | undefined;

const holds = (name: string): boolean =>
  PACKAGES.some((each) => (openwrt.simulator.store.text(each) ?? '').includes(name));

const start = async (isIcn: boolean): Promise<void> => {
  const apiServer: Target = {
    name: 'the API server',
    patienceMs: 500,
    connect: async () => {
      if (holds(culprit)) throw new Error('timed out');
    },
  };
  const clock = openwrt.clock.agent;
  const file = await openRecord(join(openwrt.folder, 'lock-out.json'), silentLogger);
  const made: { lockOut?: LockOut } = {};
  agent = await openPass(openwrt, {
    ...(isIcn && { driver: icnDriver(openwrt) }),
    lockOut: (driver) =>
      (made.lockOut = createLockOut({
        file,
        targets: createTargets([apiServer], clock),
        decisive: [apiServer],
        deadlineMs: 30_000,
        purpose: 'cnf-1',
        driver,
        onChange: () => running?.following.mark(),
        clock,
        log: silentLogger,
      })),
  });
  const stopping = new AbortController();
  const ended = made.lockOut?.run(stopping.signal) ?? Promise.resolve();
  running = { following: agent.follow(() => rules), stopping, ended };
};
/** The agent undoes nothing when it ends: what is on its disk is what the next one finds. */
const stop = async (): Promise<void> => {
  const { following, stopping, ended } = running ?? {};
  running = undefined;
  stopping?.abort(new Error('killed'));
  await ended;
  await openwrt.clock.until(following?.stop() ?? Promise.resolve());
  await turn();
};

afterEach(async () => {
  await stop();
  await openwrt.clock.until(agent.driver.close());
  await openwrt.stop();
});

const psk = { authentication_method: 'psk', pre_shared_key: 's3cret', crypto_proposal: ['p-1'] };
const site = {
  ...psk,
  remote: '203.0.113.1',
  connections: [
    {
      name: 's-1',
      conn_type: 'tunnel',
      mode: 'start',
      local_subnet: '10.1.0.0/16',
      remote_subnet: '10.2.0.0/16',
      crypto_proposal: ['p-1'],
    },
  ],
};
const proposal = cr('IpsecProposal', 'p-1', {
  encryption_algorithm: 'aes256',
  hash_algorithm: 'sha256',
  dh_group: 'modp3072',
});
const others = [zone('lan1', 'ovn-net1'), firewallRule('before'), proposal, firewallRule('zz')];
const culprits: Record<string, RuleObject> = {
  rule: firewallRule('culprit', { target: 'DROP' }),
  zone: zone('culprit', 'ovn-net2', { input: 'DROP' }),
  route: cr('CNFRoute', 'culprit', { dst: '10.77.0.0/16', dev: '#172.16.20.10', table: 'cnf' }),
  'IPsec site': cr('IpsecSite', 'culprit', site),
};
/** How each is found in the files. */
const marks: Record<string, string> = {
  rule: 'culprit',
  zone: 'culprit',
  route: '10.77.0.0',
  'IPsec site': 'culprit',
};

describe.each(['fast', 'staged', 'icn'])('over %s', (way) => {
  const begin = async (what: string): Promise<void> => {
    const isIcn = way === 'icn';
    openwrt = isIcn
      ? await startIcn()
      : await startOpenwrt({ login: way === 'fast' ? 'own' : 'stock' });
    culprit = marks[what] ?? '';
    rules = [...others, culprits[what] ?? others[0]].filter((one) => one !== undefined);
    await start(isIcn);
    running?.following.mark();
  };
  const isSettled = (): boolean => {
    const now = agent.states();
    return (
      now['culprit'] === 'Failed: LostConnectivity' &&
      others.every(({ metadata }) => now[metadata.name] === 'Applied')
    );
  };
  const reach = (what: string, isSo: () => boolean): Promise<void> =>
    openwrt.clock.reach(what, isSo, 300_000);

  it.each(Object.keys(culprits))('a %s is undone, found and left out', async (what) => {
    await begin(what);
    await reach('the agent is cut off', () => holds(culprit));
    const cutAt = openwrt.clock.agent.monotonic();
    await reach('it is undone', () => !holds(culprit));
    expect(openwrt.clock.agent.monotonic() - cutAt).toBeLessThan(30_000);
    await reach('the culprit is named, the others are applied', isSettled);
    await openwrt.clock.advance(120_000);
    expect(holds(culprit)).toBe(false);
    expect(isSettled()).toBe(true);
  });

  it.each([100, 5_500, 9_000])(
    'the agent ends %i ms after the cut: the next one undoes it and finds the rule',
    async (ms) => {
      await begin('rule');
      await reach('the agent is cut off', () => holds(culprit));
      await openwrt.clock.advance(ms);
      await stop();
      await openwrt.clock.until(agent.driver.close());
      // No list of rules without an API server.
      await start(way === 'icn');
      await reach('it is undone', () => !holds(culprit));
      await reach('the culprit is named, the others are applied', isSettled);
      expect(holds(culprit)).toBe(false);
    },
  );
});
