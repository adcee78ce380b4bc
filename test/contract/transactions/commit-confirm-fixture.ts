/**
 * An agent with commit-confirm in front of a simulator, whose API server is reached as long as
 * OpenWRT does not hold the culprit: a rule, a zone, a route or an IPsec site among others. The
 * agent can end, or die at any of its calls with what is on its disk at that moment.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { RuleObject } from '#shared/kube/objects.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import {
  createCommitConfirm,
  type CommitConfirm,
} from '../../../agent/commit-confirm/commit-confirm.ts';
import { openRecord } from '../../../agent/commit-confirm/record.ts';
import { createTargets, type Target } from '../../../agent/commit-confirm/reachability.ts';
import { icnDriver, ICN_PACKAGES, startIcn } from '../agent/support/icn-rest.ts';
import { startOpenwrt, type TestOpenwrt } from '../agent/support/openwrt.ts';
import { cr, firewallRule, openPass, zone, type TestPass } from '../agent/support/pass.ts';
import type { Following } from '../agent/support/converge.ts';

export const WAYS = ['fast', 'staged', 'icn'] as const;
export type Way = (typeof WAYS)[number];

const PACKAGES = [...new Set([...ICN_PACKAGES, 'network'])];
const STATE_FILES = ['commit-confirm.json', 'ledger.json', 'last-good.json', 'unconfirmed.json'];
const MOST_MS = 300_000;

const site = {
  authentication_method: 'psk',
  pre_shared_key: 's3cret',
  crypto_proposal: ['p-1'],
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

/** `mark`: how it is found in the files. */
export const CULPRITS: Readonly<Record<string, { rule: RuleObject; mark: string }>> = {
  rule: { rule: firewallRule('culprit', { target: 'DROP' }), mark: 'culprit' },
  zone: { rule: zone('culprit', 'ovn-net2', { input: 'DROP' }), mark: 'culprit' },
  route: {
    rule: cr('CNFRoute', 'culprit', { dst: '10.77.0.0/16', dev: '#172.16.20.10', table: 'cnf' }),
    mark: '10.77.0.0',
  },
  'IPsec site': { rule: cr('IpsecSite', 'culprit', site), mark: 'culprit' },
};

export type CommitConfirmFixture = {
  clock: TestOpenwrt['clock'];
  /** OpenWRT holds the culprit. */
  isCut: () => boolean;
  /** The culprit is named and left out, the others are applied. */
  isSettled: () => boolean;
  reach: (what: string, isSo: () => boolean) => Promise<void>;
  /**
   * An agent with what is on the disk. It has no rules before the API server has given them:
   * `list`.
   */
  start: () => Promise<void>;
  list: () => void;
  /** The agent undoes nothing when it ends: what is on its disk is what the next one finds. */
  stop: () => Promise<void>;
  /** The agent's calls from now on, as whether OpenWRT holds the culprit after each. */
  record: () => readonly boolean[];
  /**
   * Its `at`th call from now on is the last one that OpenWRT carries out, and the agent's disk
   * stays as it is then. Tells whether that has come.
   */
  dieAt: (at: number) => () => boolean;
  /** The agent that is dead by `dieAt` is gone, and its disk is as it was at its death. */
  bury: () => Promise<void>;
  end: () => Promise<void>;
};

export const startCommitConfirmFixture = async (
  way: Way,
  what: string,
): Promise<CommitConfirmFixture> => {
  const culprit = CULPRITS[what];
  if (culprit === undefined) throw new Error(`there is no culprit ${what}`);
  const rules = [...others, culprit.rule];
  const openwrt = await (way === 'icn'
    ? startIcn()
    : startOpenwrt({ login: way === 'fast' ? 'own' : 'stock' }));
  const { simulator, clock, folder } = openwrt;
  const { store, faults } = simulator;
  const isCut = (): boolean =>
    PACKAGES.some((each) => (store.text(each) ?? '').includes(culprit.mark));
  const apiServer: Target = {
    name: 'the API server',
    patienceMs: 500,
    connect: async () => {
      if (isCut()) throw new Error('timed out');
    },
  };
  let agent: TestPass | undefined;
  let running:
    | { following: Following; stopping: AbortController; ended: Promise<void> }
    | undefined;
  let isListed = false;
  let disk: readonly { path: string; content: Buffer | undefined }[] = [];

  const stop = async (): Promise<void> => {
    const { following, stopping, ended } = running ?? {};
    running = undefined;
    stopping?.abort(new Error('killed'));
    await ended;
    await clock.until(following?.stop() ?? Promise.resolve());
    await turn();
    await clock.until(agent?.driver.close() ?? Promise.resolve());
    agent = undefined;
  };
  const readDisk = (): void => {
    disk = STATE_FILES.map((name) => {
      const path = join(folder, name);
      return { path, content: existsSync(path) ? readFileSync(path) : undefined };
    });
  };

  return {
    clock,
    isCut,
    isSettled: () => {
      const now = agent?.states() ?? {};
      return (
        now['culprit'] === 'Failed: LostConnectivity' &&
        others.every(({ metadata }) => now[metadata.name] === 'Applied')
      );
    },
    reach: (state, isSo) => clock.reach(state, isSo, MOST_MS),
    start: async () => {
      const file = await openRecord(join(folder, 'commit-confirm.json'), silentLogger);
      const made: { commitConfirm?: CommitConfirm } = {};
      agent = await openPass(openwrt, {
        ...(way === 'icn' && { driver: icnDriver(openwrt) }),
        commitConfirm: (driver) =>
          (made.commitConfirm = createCommitConfirm({
            file,
            targets: createTargets([apiServer], clock.agent),
            decisive: [apiServer],
            isOutage: async () => false,
            deadlineMs: 30_000,
            purpose: 'cnf-1',
            driver,
            onChange: () => running?.following.mark(),
            clock: clock.agent,
            log: silentLogger,
          })),
      });
      const stopping = new AbortController();
      const ended = made.commitConfirm?.run(stopping.signal) ?? Promise.resolve();
      isListed = false;
      const following = agent.follow(() => (isListed ? rules : undefined));
      running = { following, stopping, ended };
    },
    list: () => {
      isListed = true;
      running?.following.mark();
    },
    stop,
    record: () => {
      const cutAfter: boolean[] = [];
      const goOn = { kind: 'delay', ms: 0 } as const;
      faults.add({ action: goOn, when: 'after' }, () => cutAfter.push(isCut()));
      return cutAfter;
    },
    dieAt: (at) => {
      let isDead = false;
      const reset = { action: { kind: 'reset' } } as const;
      faults.add({ ...reset, when: 'after', skip: at, times: 1 }, () => {
        isDead = true;
        readDisk();
      });
      faults.add({ ...reset, skip: at + 1 });
      return () => isDead;
    },
    bury: async () => {
      await stop();
      faults.clear();
      for (const { path, content } of disk)
        if (content === undefined) rmSync(path, { force: true });
        else writeFileSync(path, content);
    },
    end: async () => {
      faults.clear();
      await stop();
      await openwrt.stop();
    },
  };
};
