/**
 * Passes and commit-confirm together, on an OpenWRT in memory: what it holds decides whether the
 * API server is reached.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DELETING, namedSection, ruleOf } from '#shared/compile/testing.ts';
import { revisionOf } from '#shared/compile/revision.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createCommitConfirm, type CommitConfirm } from '../commit-confirm/commit-confirm.ts';
import type { CommitConfirmRecord } from '../commit-confirm/record.ts';
import { createTargets, type Target } from '../commit-confirm/reachability.ts';
import {
  createOpenwrt,
  driverOf,
  openAgent,
  statesOf,
  stateFolder,
  type MemoryOpenwrt,
  type TestAgent,
} from './testing.ts';

const DEADLINE_MS = 30_000;
const EMPTY: CommitConfirmRecord = { changes: [], before: {}, blamed: [] };

let folder: ReturnType<typeof stateFolder>;
let openwrt: MemoryOpenwrt;
let agent: TestAgent;
let commitConfirm: CommitConfirm;
let stopping: AbortController;
let ended: Promise<void>;
let record: CommitConfirmRecord;
let dirty: boolean;
let rules: readonly RuleObject[];
/** Whether the API server is reached, with what OpenWRT holds. */
let isReached: () => boolean;
/** The API server is not reached until then, and the coordinators say so for a while longer. */
let outageUntil: number;
let connections: number;

const OURS = /^sdewan_(rule|zone)_/;
/** Names of our sections, sorted. */
const names = (): string[] =>
  openwrt
    .sections('firewall')
    .flatMap(({ name }) => (OURS.test(name) ? [name.replace(OURS, '')] : []))
    .toSorted();
const has = (name: string): boolean => names().includes(name);

const start = async (): Promise<void> => {
  const apiServer: Target = {
    name: 'the API server',
    patienceMs: 500,
    connect: async () => {
      connections += 1;
      if (openwrt.clock.monotonic() < outageUntil || !isReached()) throw new Error('timed out');
    },
  };
  commitConfirm = createCommitConfirm({
    file: {
      found: record,
      write: async (next) => {
        record = structuredClone(next);
      },
    },
    targets: createTargets([apiServer], openwrt.clock),
    decisive: [apiServer],
    isOutage: async () => openwrt.clock.monotonic() < outageUntil + 7_000,
    deadlineMs: DEADLINE_MS,
    purpose: 'cnf-1',
    driver: driverOf(openwrt),
    onChange: () => {
      dirty = true;
    },
    clock: openwrt.clock,
    log: silentLogger,
  });
  agent = await openAgent(openwrt, folder.path, { commitConfirm });
  stopping = new AbortController();
  ended = commitConfirm.run(stopping.signal);
};
const stop = async (): Promise<void> => {
  stopping.abort(new Error('the test is over'));
  await ended;
};

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1)
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
};
/** The agent's loop: a pass when something asks for one. */
const pass = async (): Promise<void> => {
  dirty = false;
  await agent.run(rules);
};
/** Advances the time, and runs the passes that are due. */
const letPass = async (ms: number): Promise<void> => {
  const end = openwrt.clock.monotonic() + ms;
  while (openwrt.clock.monotonic() < end) {
    await settle();
    if (dirty) await pass();
    openwrt.clock.advance(100);
  }
  await settle();
};
const use = async (...next: RuleObject[]): Promise<void> => {
  rules = next;
  await pass();
};

beforeEach(async () => {
  folder = stateFolder();
  openwrt = createOpenwrt();
  record = EMPTY;
  dirty = false;
  rules = [];
  connections = 0;
  outageUntil = -Infinity;
  isReached = () => !has('cut');
  await start();
});
afterEach(async () => {
  await stop();
  folder[Symbol.dispose]();
});

const rule = (name: string, spec: object = { target: 'DROP' }, metadata: object = {}): RuleObject =>
  ruleOf('FirewallRule', name, spec, metadata);
const CUT = rule('cut');

describe('a rule that cuts the agent off', () => {
  it('is undone, found, left out and named, and all others are applied', async () => {
    await use(rule('a'), CUT, rule('b'), rule('c'));
    await letPass(4_900);
    expect(names()).toEqual(['a', 'b', 'c', 'cut']);
    await letPass(60_000);
    const [, undoing] = openwrt.transactions;
    expect(undoing?.[0]?.remove).toHaveLength(4);
    expect(names()).toEqual(['a', 'b', 'c']);
    expect(statesOf(agent)).toMatchObject({
      a: 'wanted Applying',
      cut: 'failed LostConnectivity',
    });
    await letPass(120_000);
    expect(has('cut')).toBe(false);
    expect(record).toMatchObject({ changes: [], before: {}, blamed: [{ uid: CUT.metadata.uid }] });
  });

  it('is tried again when it changes', async () => {
    await use(CUT);
    await letPass(60_000);
    expect(names()).toEqual([]);
    isReached = () => true;
    await use(rule('cut', { target: 'REJECT' }));
    expect(names()).toEqual(['cut']);
    await letPass(60_000);
    expect(record).toEqual(EMPTY);
  });

  it('stays as it was, where a new version of it does', async () => {
    const target = (): unknown =>
      openwrt.sections('firewall').find(({ name }) => name === 'sdewan_rule_cut')?.options.target;
    isReached = () => target() !== 'DROP';
    await use(rule('cut', { target: 'ACCEPT' }));
    await letPass(60_000);
    await use(rule('cut', { target: 'DROP' }, { generation: 2 }));
    await letPass(60_000);
    expect(target()).toBe('ACCEPT');
    expect(statesOf(agent)).toEqual({ cut: 'failed LostConnectivity' });
  });

  it('stays in force, where its removal does', async () => {
    isReached = () => has('keep');
    await use(rule('keep'), rule('other'));
    await letPass(60_000);
    await use(rule('keep', {}, DELETING), rule('other', {}, DELETING));
    await letPass(60_000);
    expect(names()).toEqual(['keep']);
    expect(statesOf(agent)).toMatchObject({ keep: 'failed LostConnectivity' });
  });

  it('is found among rules that need one another', async () => {
    const lan = ruleOf('FirewallZone', 'lan1', { network: ['ovn-net1'] });
    await use(rule('b', { src: 'lan1', target: 'DROP' }), CUT, lan);
    await letPass(60_000);
    expect(names()).toEqual(['b', 'lan1']);
  });

  it('does not delay changes that come during the search', async () => {
    await use(rule('a'), CUT, rule('b'));
    await letPass(6_000);
    rules = [rule('a'), CUT, rule('b'), rule('new')];
    dirty = true;
    await letPass(60_000);
    expect(names()).toEqual(['a', 'b', 'new']);
  });
});

describe('the loss of a target by no fault of a rule', () => {
  it('blames no rule when it was lost before', async () => {
    isReached = () => false;
    await use(rule('a'), CUT);
    await letPass(120_000);
    expect(names()).toEqual(['a', 'cut']);
    expect(record).toEqual(EMPTY);
  });

  it.each([3_000, 12_000, 60_000, 300_000])(
    'blames no rule when it lasts for %i ms, whatever was changed: all is in force afterwards',
    async (ms) => {
      await use(rule('a'), rule('b'));
      const back = openwrt.clock.monotonic() + ms;
      isReached = () => openwrt.clock.monotonic() >= back;
      await letPass(ms + 400_000);
      expect(names()).toEqual(['a', 'b']);
      expect(record).toEqual(EMPTY);
    },
  );

  it('blames no rule when it lasts for seconds: many changes are undone once, and made again at once', async () => {
    const many = Array.from({ length: 16 }, (_, at) => rule(`r-${at}`));
    const begun = openwrt.clock.monotonic();
    await use(...many);
    isReached = () => openwrt.clock.monotonic() >= begun + 8_000;
    const count = openwrt.transactions.length;
    await letPass(30_000);
    expect(names()).toHaveLength(many.length);
    expect(openwrt.transactions).toHaveLength(count + 2);
  });

  it('blames no rule while others’ change is repaired: no target is asked, and the repair does not wait', async () => {
    await use(rule('a'));
    await letPass(60_000);
    const before = connections;
    isReached = () => false;
    openwrt.packages.set('firewall', { name: 'firewall', sections: [] });
    await pass();
    expect(names()).toEqual(['a']);
    expect(connections).toBe(before);
  });

  it('blames no rule without a change: nothing is undone, and no target is connected to', async () => {
    await use(rule('a'));
    await letPass(60_000);
    const before = connections;
    isReached = () => false;
    await letPass(60_000);
    expect(names()).toEqual(['a']);
    expect(connections).toBe(before);
  });
});

/** After so many milliseconds; the next one has no API server until it has undone the change. */
const killAfter = async (ms: number): Promise<void> => {
  await letPass(ms);
  await stop();
  await start();
  const rescue = { isDone: false };
  const work = commitConfirm.rescue(stopping.signal).finally(() => {
    rescue.isDone = true;
  });
  while (!rescue.isDone) {
    await settle();
    openwrt.clock.advance(100);
  }
  await work;
};

describe('an outage that the coordinators see, too', () => {
  const outage = async (ms: number): Promise<void> => {
    outageUntil = openwrt.clock.monotonic() + ms;
    await letPass(ms);
  };

  it.each([8_000, 20_000, 60_000, 300_000])(
    'undoes nothing in %i ms, and what was changed before is confirmed afterwards',
    async (ms) => {
      isReached = () => true;
      await use(rule('a'), rule('b'));
      const count = openwrt.transactions.length;
      await outage(ms);
      expect(record.changes).toHaveLength(2);
      await letPass(60_000);
      expect(openwrt.transactions).toHaveLength(count);
      expect(record).toEqual(EMPTY);
    },
  );

  it('hides no rule that cuts the agent off: it is found when the outage is over', async () => {
    await use(rule('a'), CUT);
    await outage(60_000);
    expect(names()).toEqual(['a', 'cut']);
    await letPass(60_000);
    expect(names()).toEqual(['a']);
    expect(statesOf(agent)).toMatchObject({ cut: 'failed LostConnectivity' });
  });

  it.each([12_000, 24_000])(
    'ends a search that began %i ms after the change: all is in force, and the rule is found afterwards',
    async (ms) => {
      await use(rule('a'), CUT, rule('b'), rule('c'));
      await letPass(ms);
      const [{ length: made }, { length: count }] = [names(), openwrt.transactions];
      expect(made).toBeLessThan(4);
      await outage(60_000);
      expect(names()).toEqual(['a', 'b', 'c', 'cut']);
      expect(openwrt.transactions).toHaveLength(count + 1);
      await letPass(120_000);
      expect(names()).toEqual(['a', 'b', 'c']);
    },
  );

  it('blames no rule when it comes four times within two minutes of a change', async () => {
    isReached = () => true;
    await use(rule('a'), rule('b'));
    const count = openwrt.transactions.length;
    for (let time = 0; time < 4; time += 1) {
      await outage(12_000);
      await letPass(15_000);
    }
    expect(openwrt.transactions).toHaveLength(count);
    expect(record.blamed).toEqual([]);
  });

  it('undoes nothing when the agent is killed in it; the next one finds a rule that cuts it off afterwards', async () => {
    await use(rule('a'), CUT);
    outageUntil = Infinity;
    await killAfter(2_000);
    await letPass(30_000);
    expect(names()).toEqual(['a', 'cut']);
    outageUntil = openwrt.clock.monotonic();
    dirty = true;
    await letPass(120_000);
    expect(names()).toEqual(['a']);
  });
});

describe('an agent that is killed', () => {
  it.each([0, 2_000, 5_000, 5_400, 8_000, 12_000, 18_000, 24_000, 30_000])(
    '%i ms after the change: the next one undoes it by its file alone, and finds the rule',
    async (ms) => {
      await use(rule('old'));
      await letPass(60_000);
      await use(rule('old', { target: 'REJECT' }, { generation: 2 }), rule('a'), CUT, rule('b'));
      await killAfter(ms);
      expect(has('cut')).toBe(false);
      dirty = true;
      await letPass(120_000);
      expect(names()).toEqual(['a', 'b', 'old']);
      expect(statesOf(agent)).toMatchObject({ cut: 'failed LostConnectivity' });
    },
  );

  it('has blamed the rule: it is not tried again', async () => {
    await use(CUT);
    await letPass(60_000);
    await killAfter(0);
    const count = openwrt.transactions.length;
    dirty = true;
    await letPass(60_000);
    expect(openwrt.transactions).toHaveLength(count);
    expect(statesOf(agent)).toEqual({ cut: 'failed LostConnectivity' });
  });

  it('keeps what was changed while it is reached, and confirms it', async () => {
    await use(rule('a'));
    await killAfter(1_000);
    expect(names()).toEqual(['a']);
    dirty = true;
    await letPass(60_000);
    expect(names()).toEqual(['a']);
    expect(record).toEqual(EMPTY);
  });
});

describe('a pod that is new', () => {
  const blamedIn = (purpose: string, revision: string): RuleObject => ({
    ...CUT,
    status: { lostConnectivity: { purpose, revision, message: 'as pod one has found' } },
  });

  it('leaves out what has cut off another pod of its CNF', async () => {
    await use(rule('a'), blamedIn('cnf-1', revisionOf(CUT)));
    expect(names()).toEqual(['a']);
    expect(statesOf(agent)).toMatchObject({ cut: 'failed LostConnectivity' });
  });

  it.each([
    ['of another revision', blamedIn('cnf-1', 'an older one')],
    ['of another CNF', blamedIn('cnf-2', revisionOf(CUT))],
  ])('does not believe a status %s', async (_what, blamed) => {
    isReached = () => true;
    await use(blamed);
    expect(names()).toEqual(['cut']);
  });

  it('keeps in force what it has, whatever a status says', async () => {
    isReached = () => true;
    await use(CUT);
    await letPass(60_000);
    await use(blamedIn('cnf-1', revisionOf(CUT)));
    expect(names()).toEqual(['cut']);
  });
});

it("touches no section of an administrator's in all of this", async () => {
  const theirs = namedSection('theirs', 'rule', { target: 'ACCEPT' });
  openwrt.packages.set('firewall', {
    name: 'firewall',
    sections: [...openwrt.sections('firewall'), theirs],
  });
  await use(rule('a'), CUT);
  await letPass(60_000);
  expect(openwrt.sections('firewall')).toContainEqual(theirs);
});
