import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AddressGroup } from '#shared/resources/other-kinds/address-group.ts';
import { MAX_TAKEN, MAX_TAKEN_OF_NAMESPACE } from '#shared/policy/bounds.ts';
import { wholeFile, type PolicyTable } from '#shared/policy/nft-table.ts';
import type { PolicyEnforcement } from '#shared/resources/other-kinds/policy-enforcement.ts';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { OpenwrtUnreachableError, type Policies } from '../openwrt/driver.ts';
import { createDenials, type Denials } from './denials.ts';
import { createPolicyLoop, type PolicyLoop } from './loop.ts';

const PODS = '0'.repeat(16);
const CLIENTS = '1'.repeat(16);

const meta = (name: string, more: object = {}) => ({
  name,
  namespace: 'ns',
  uid: `uid-${name}`,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
  generation: 1,
  ...more,
});
const slice = (group: string, ...members: string[]): AddressGroup => ({
  apiVersion: 'network.sdewan.akraino.org/v1alpha1',
  kind: 'AddressGroup',
  metadata: meta(`${group}-0`),
  spec: { group, slice: 0, members },
});
const enforcement = (name: string, more: object = {}, groups = [CLIENTS]): PolicyEnforcement => ({
  apiVersion: 'network.sdewan.akraino.org/v1alpha1',
  kind: 'PolicyEnforcement',
  metadata: meta(name, more),
  spec: {
    policy: { namespace: 'apps', name, uid: name, generation: 1 },
    place: 'cluster',
    pods: PODS,
    isolates: ['ingress'],
    lines: groups.map((group) => ({ direction: 'ingress', group })),
    exceptions: [],
  },
});

/** A kernel that holds one table, and what is asked of it. */
const createKernel = () => {
  const kernel = {
    marker: '',
    looks: 0,
    loads: [] as ('whole' | 'members' | 'removal')[],
    refuse: undefined as string | undefined,
    refuses: undefined as ((table: PolicyTable) => string | undefined) | undefined,
    table: undefined as PolicyTable | undefined,
    trials: 0,
    unsupported: undefined as string | undefined,
    hasSession: true,
    /** Packets by counter; undefined: the login may not read them. */
    counters: {} as Record<string, number> | undefined,
    counted: 0,
    /** Called while a table is loaded. */
    whileLoading: (): void => undefined,
  };
  const assertSession = (): void => {
    if (!kernel.hasSession) throw new OpenwrtUnreachableError('look', 'no session');
  };
  const policies: Policies = {
    marker: async () => {
      assertSession();
      kernel.looks += 1;
      const { marker, unsupported } = kernel;
      return unsupported === undefined ? { marker } : { unsupported };
    },
    load: async (after, before) => {
      assertSession();
      kernel.loads.push(after ? (before ? 'members' : 'whole') : 'removal');
      kernel.whileLoading();
      if (before && kernel.marker !== before.hash)
        return { outcome: 'refused', message: 'No such file or directory' };
      if (kernel.refuse !== undefined) return { outcome: 'refused', message: kernel.refuse };
      const message = after && kernel.refuses?.(after);
      if (message !== undefined) return { outcome: 'refused', message };
      kernel.marker = after?.hash ?? '';
      kernel.table = after;
      return { outcome: 'loaded' };
    },
    tryOut: async (table) => {
      assertSession();
      kernel.trials += 1;
      const message = kernel.refuse ?? kernel.refuses?.(table);
      return message === undefined ? { outcome: 'loaded' } : { outcome: 'refused', message };
    },
    denied: async () => {
      assertSession();
      kernel.counted += 1;
      return kernel.counters && new Map(Object.entries(kernel.counters));
    },
  };
  return { kernel, policies };
};

/** Time passes in steps, and what is due in one has its turns. */
const STEP_MS = 50;
const TURNS = 4;

const { kernel: _kernel } = createKernel();
let clock: ReturnType<typeof createManualClock>;
let kernel: typeof _kernel;
let keeper: PolicyLoop;
let drifts: number;
let loadedAfter: number[];
let denials: Denials;
let isKnown: boolean;
let isPaused: boolean;
let isReached: boolean;
let enforcements: PolicyEnforcement[];
let groups: AddressGroup[];
let stop: AbortController;
let ended: Promise<void>;

const start = (now: Partial<typeof _kernel> = {}): void => {
  const made = createKernel();
  kernel = Object.assign(made.kernel, now);
  stop = new AbortController();
  keeper = createPolicyLoop({
    source: {
      enforcements: () => enforcements,
      groups: () => groups,
      isKnown: () => isKnown,
    },
    policies: () => (isReached ? made.policies : undefined),
    isReached: () => isReached,
    paused: () => isPaused,
    onChange: () => undefined,
    onDrift: () => (drifts += 1),
    onLoaded: (seconds) => loadedAfter.push(seconds),
    denials,
    clock,
    log: silentLogger,
  });
  ended = keeper.run(stop.signal);
};
/** By default longer than between two loads. */
const pass = async (ms = 150): Promise<void> => {
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    clock.advance(STEP_MS);
    for (let turn = 0; turn < TURNS; turn += 1) await new Promise(setImmediate);
  }
};
const states = (): Record<string, string> =>
  Object.fromEntries(
    keeper
      .reports({ reading: 'holds', problem: '' })
      .map(({ name, state, reason }) => [name, state === reason ? state : `${state}: ${reason}`]),
  );

beforeEach(() => {
  clock = createManualClock();
  drifts = 0;
  loadedAfter = [];
  denials = createDenials();
  isKnown = true;
  isPaused = false;
  isReached = true;
  enforcements = [enforcement('web')];
  groups = [slice(PODS, '10.0.0.1'), slice(CLIENTS, '10.0.0.9')];
});
afterEach(async () => {
  stop.abort();
  await ended;
});

it('reports what the coordinator does not carry as Failed with its words, and keeps what it was', async () => {
  const refused = { generation: 2, reason: 'TooLarge' as const, message: '5001 and 5000' };
  const [web] = enforcements;
  if (web) enforcements = [{ ...web, spec: { ...web.spec, refused } }];
  const never = enforcement('never', {});
  enforcements.push({ ...never, spec: { ...never.spec, isolates: [], lines: [], refused } });
  start();
  await pass();
  expect(kernel.loads).toEqual(['whole']);
  expect(states()).toEqual({ web: 'Failed: TooLarge', never: 'Failed: TooLarge' });
  expect(keeper.reports({ reading: 'holds', problem: '' })[0]?.message).toBe('5001 and 5000');
});

describe('what is asked for', () => {
  it('is loaded, and reported when it is', async () => {
    start();
    expect(states()).toEqual({ web: 'Pending: Applying' });
    await pass();
    expect(kernel.loads).toEqual(['whole']);
    expect(states()).toEqual({ web: 'Applied' });
  });

  it('is written when it changes, with what the kernel has', async () => {
    start();
    await pass();
    groups = [slice(PODS, '10.0.0.1'), slice(CLIENTS, '10.0.0.10')];
    keeper.mark();
    await pass();
    expect(kernel.loads).toEqual(['whole', 'members']);
    expect(states()).toEqual({ web: 'Applied' });
    expect(loadedAfter).toEqual([0.05]);
  });

  it('is one load where much changes within a tenth of a second', async () => {
    start();
    await pass();
    const change = (last: number): void => {
      groups = [slice(PODS, '10.0.0.1'), slice(CLIENTS, `10.0.0.${last}`)];
      keeper.mark();
    };
    change(10);
    await pass(50);
    expect(kernel.loads).toEqual(['whole', 'members']);
    change(11);
    await pass(50);
    change(12);
    expect(kernel.loads).toEqual(['whole', 'members']);
    await pass(100);
    expect(kernel.loads).toEqual(['whole', 'members', 'members']);
    expect(kernel.table?.sets.get(`g_${CLIENTS}_4`)?.members).toEqual(['10.0.0.12']);
  });

  it('is in force while members change, and what is new is not before it was read back', async () => {
    start();
    await pass();
    const seen: Record<string, string>[] = [];
    kernel.whileLoading = () => seen.push(states());
    groups = [slice(PODS, '10.0.0.1'), slice(CLIENTS, '10.0.0.10')];
    keeper.mark();
    await pass();
    enforcements.push(enforcement('new'));
    keeper.mark();
    await pass();
    enforcements = [enforcement('new')];
    keeper.mark();
    await pass();
    expect(seen).toEqual([
      { web: 'Applied' },
      { web: 'Applied', new: 'Pending: Applying' },
      { new: 'Applied' },
    ]);
  });

  it('is in force no more when the table was found gone, until it is there again', async () => {
    start();
    await pass();
    const seen: Record<string, string>[] = [];
    kernel.whileLoading = () => seen.push(states());
    kernel.marker = '';
    await pass(4_000);
    expect(seen).toEqual([{ web: 'Pending: Applying' }]);
    expect(states()).toEqual({ web: 'Applied' });
  });

  it('waits until all of it is known', async () => {
    isKnown = false;
    start();
    await pass();
    expect(kernel.loads).toEqual([]);
    isKnown = true;
    keeper.mark();
    await pass();
    expect(kernel.loads).toEqual(['whole']);
  });

  it('is left out while it is not known who its pods are', async () => {
    groups = [slice(CLIENTS, '10.0.0.9')];
    start();
    await pass();
    expect(kernel.loads).toEqual([]);
    expect(states()).toEqual({ web: 'Pending: Applying' });
  });

  it('isolates its pods while another of its groups has not come, and is not said to be applied', async () => {
    groups = [slice(PODS, '10.0.0.1')];
    start();
    await pass();
    expect(kernel.loads).toEqual(['whole']);
    expect(kernel.table?.sets.get('isolated_in_4')?.members).toEqual(['10.0.0.1']);
    expect(kernel.table?.sets.get(`g_${CLIENTS}_4`)?.members).toEqual([]);
    expect(states()).toEqual({ web: 'Pending: Applying' });
    groups = [...groups, slice(CLIENTS, '10.0.0.9')];
    keeper.mark();
    await pass();
    expect(kernel.table?.sets.get(`g_${CLIENTS}_4`)?.members).toEqual(['10.0.0.9']);
    expect(states()).toEqual({ web: 'Applied' });
  });

  it('is all known where it lists a group as empty, until there is an object of that', async () => {
    groups = [slice(PODS, '10.0.0.1')];
    const [web] = enforcements;
    if (web) enforcements = [{ ...web, spec: { ...web.spec, empty: [CLIENTS] } }];
    start();
    await pass();
    expect(states()).toEqual({ web: 'Applied' });
    groups = [...groups, slice(CLIENTS, '10.0.0.9')];
    keeper.mark();
    await pass();
    expect(kernel.table?.sets.get(`g_${CLIENTS}_4`)?.members).toEqual(['10.0.0.9']);
    groups = [slice(PODS, '10.0.0.1')];
    keeper.mark();
    await pass();
    expect(kernel.table?.sets.get(`g_${CLIENTS}_4`)?.members).toEqual(['10.0.0.9']);
  });

  it('is taken up to a bound, namespace by namespace in turn; what is beyond isolates its pods alone', async () => {
    const LINES = 1_000;
    const large = (name: string, namespace: string): PolicyEnforcement => {
      const one = enforcement(name);
      const lines = Array.from({ length: LINES }, (_, at) => ({
        direction: 'ingress' as const,
        cidr: `10.${at >> 8}.${at & 255}.0/24`,
      }));
      return { ...one, spec: { ...one.spec, policy: { ...one.spec.policy, namespace }, lines } };
    };
    const greedy = Array.from({ length: 200 }, (_, at) => large(`greedy-${1_000 + at}`, 'greedy'));
    enforcements = [...greedy, large('web', 'shop')];
    start();
    await pass();
    const said = Object.values(states());
    expect(states()['web']).toBe('Applied');
    const taken = said.filter((one) => one === 'Applied').length;
    expect(taken).toBe(Math.floor((MAX_TAKEN_OF_NAMESPACE - 1) / LINES) + 1);
    expect(said.filter((one) => one === 'Failed: TooLarge')).toHaveLength(201 - taken);
    expect(kernel.table?.chains.split('accept').length).toBeLessThan(MAX_TAKEN);
    expect(kernel.table?.chains).toContain('in_uid_greedy_1199');
    const [report] = keeper.reports({ reading: 'holds', problem: '' }).slice(199);
    expect(report?.message).toContain(`${MAX_TAKEN_OF_NAMESPACE} of a namespace`);
  });

  it('stays as it was while the groups of its new version have not come', async () => {
    start();
    await pass();
    const { marker } = kernel;
    enforcements = [enforcement('web', { generation: 2 }, ['2'.repeat(16)])];
    keeper.mark();
    await pass();
    expect(kernel.marker).toBe(marker);
    expect(states()).toEqual({ web: 'Pending: Applying' });
  });

  it('stays as it was while a group that it needs is gone', async () => {
    start();
    await pass();
    const { marker } = kernel;
    groups = [slice(PODS, '10.0.0.1')];
    keeper.mark();
    await pass();
    expect(kernel.marker).toBe(marker);
    expect(states()).toEqual({ web: 'Applied' });
  });

  it('is reported as nothing while OpenWRT does not answer', async () => {
    start();
    await pass();
    const [report] = keeper.reports({ reading: 'silent', problem: 'no answer' });
    expect(report).toMatchObject({ reason: 'OpenwrtUnreachable', message: 'no answer' });
  });
});

describe('what is not asked for any more', () => {
  it('is removed, and said to be when it is', async () => {
    start();
    await pass();
    enforcements = [enforcement('web', { deletionTimestamp: '2026-01-01T00:00:01Z' })];
    expect(states()).toEqual({ web: 'Pending: Removing' });
    keeper.mark();
    await pass();
    expect(kernel.loads).toEqual(['whole', 'removal']);
    expect(states()).toEqual({ web: 'Removed' });
  });

  it('is removed when an earlier agent asked for it as well, and not said to be before', async () => {
    enforcements = [enforcement('web', { deletionTimestamp: '2026-01-01T00:00:01Z' })];
    start({ marker: 'of the agent before' });
    expect(states()).toEqual({ web: 'Pending: Removing' });
    await pass();
    expect(kernel.marker).toBe('');
    expect(states()).toEqual({ web: 'Removed' });
  });

  it('is not looked for again and again where nothing is', async () => {
    enforcements = [];
    start();
    await pass(60_000);
    expect(kernel.loads).toEqual([]);
    expect(kernel.looks).toBe(1);
    enforcements = [enforcement('web')];
    keeper.mark();
    await pass();
    expect(states()).toEqual({ web: 'Applied' });
    kernel.marker = '';
    await pass(4_000);
    expect(drifts).toBe(1);
  });
});

describe('a table that others have taken away', () => {
  it('is loaded again within four seconds, and counted', async () => {
    start();
    await pass();
    const { marker } = kernel;
    kernel.marker = '';
    await pass(4_000);
    expect(kernel.marker).toBe(marker);
    expect(drifts).toBe(1);
    await pass(20_000);
    expect(drifts).toBe(1);
  });

  it('is loaded whole when a change finds it gone', async () => {
    start();
    await pass();
    kernel.marker = '';
    groups = [slice(PODS, '10.0.0.1'), slice(CLIENTS, '10.0.0.10')];
    keeper.mark();
    await pass();
    expect(kernel.loads).toEqual(['whole', 'members', 'whole']);
    expect(states()).toEqual({ web: 'Applied' });
  });
});

describe('what the kernel denies', () => {
  const counter = 'in_uid_web';
  const packets = (): Record<string, number> =>
    Object.fromEntries(denials.all().map((one) => [one.policy, one.packets]));
  const counts = (value: number): void => {
    kernel.counters = { [counter]: value };
  };

  it('is read every half a minute', async () => {
    start();
    await pass();
    counts(9);
    await pass(20_000);
    expect(packets()).toEqual({});
    await pass(20_000);
    expect(packets()).toEqual({ 'apps/web': 9 });
    expect(kernel.counted).toBe(2);
  });

  it('is not read of a table that an agent before this one has loaded', async () => {
    isPaused = true;
    start({ marker: 'of the agent before', counters: { [counter]: 7 } });
    await pass(40_000);
    expect(kernel.counted).toBe(0);
  });

  it('goes on when the table is loaded anew, whatever has been denied since, and when members change', async () => {
    start();
    await pass();
    counts(5);
    await pass(40_000);
    groups = [slice(PODS, '10.0.0.1'), slice(CLIENTS, '10.0.0.10')];
    keeper.mark();
    counts(6);
    await pass(40_000);
    expect(packets()).toEqual({ 'apps/web': 6 });
    enforcements = [...enforcements, enforcement('more')];
    keeper.mark();
    counts(8);
    await pass(40_000);
    expect(packets()).toEqual({ 'apps/web': 14 });
    kernel.marker = '';
    await pass(4_000);
    counts(9);
    await pass(40_000);
    expect(packets()).toEqual({ 'apps/web': 23 });
  });

  it('is nothing where the login may not read it, and the policy is in force all the same', async () => {
    start({ counters: undefined });
    await pass(40_000);
    expect(kernel.counted).toBeGreaterThan(0);
    expect(packets()).toEqual({});
    expect(states()).toEqual({ web: 'Applied' });
    expect(drifts).toBe(0);
  });
});

describe('what cannot be in force', () => {
  it('nft refuses: its words are reported, what is in force stays', async () => {
    start();
    await pass();
    kernel.refuse = 'Error: no';
    enforcements = [enforcement('web'), enforcement('more')];
    keeper.mark();
    await pass();
    expect(states()).toEqual({ web: 'Applied', more: 'Failed: RefusedByOpenwrt' });
    kernel.refuse = undefined;
    await pass(20_000);
    expect(states()).toEqual({ web: 'Applied', more: 'Applied' });
  });

  describe('a refusal of nft for one policy', () => {
    const BAD = '2'.repeat(16);
    const names = (): string[] =>
      [...(kernel.table?.chains.matchAll(/comment "apps\/([^"]*)"/g) ?? [])].map(
        ([, name = '']) => name,
      );
    const many = (): PolicyEnforcement[] =>
      Array.from({ length: 20 }, (_, at) => enforcement(`p${at}`));
    const bad = (name: string): PolicyEnforcement =>
      enforcement(name, { generation: 2 }, [CLIENTS, BAD]);
    const isBad = ({ chains }: PolicyTable): boolean => chains.includes(`@g_${BAD}`);
    beforeEach(() => {
      groups.push(slice(BAD, '10.0.0.8'));
    });

    it.each<[string, (table: PolicyTable) => string, number]>([
      [
        'by a line',
        (table) => {
          const at = wholeFile(table)
            .split('\n')
            .findIndex((line) => line.includes(`saddr @g_${BAD}`));
          return `/tmp/sdewan-kernel/policies:${at + 1}:1-9: Error: Could not process rule`;
        },
        0,
      ],
      ['without a line', () => 'Error: Could not process rule', 6],
    ])('(%s) the others are in force, and that one says its words', async (_way, words, trials) => {
      enforcements = [...many(), bad('bad')];
      start({ refuses: (table) => (isBad(table) ? words(table) : undefined) });
      await pass();
      const told = states();
      expect(told['bad']).toBe('Failed: RefusedByOpenwrt');
      expect(new Set(Object.values({ ...told, bad: 'Applied' }))).toEqual(new Set(['Applied']));
      expect(names().sort()).toEqual(
        many()
          .map(({ metadata }) => metadata.name)
          .sort(),
      );
      expect(kernel.trials).toBeGreaterThanOrEqual(trials);
      expect(kernel.trials).toBeLessThanOrEqual(2 * trials);
    });

    it('keeps that policy as it last was taken, also after the table was flushed', async () => {
      enforcements = many();
      start({ refuses: (table) => (isBad(table) ? 'Error: no' : undefined) });
      await pass();
      enforcements = [bad('p0'), ...many().slice(1), enforcement('more')];
      keeper.mark();
      await pass();
      expect(names()).toHaveLength(21);
      expect(states()).toMatchObject({ p0: 'Failed: RefusedByOpenwrt', more: 'Applied' });
      kernel.marker = '';
      kernel.table = undefined;
      await pass(5_000);
      expect(names()).toHaveLength(21);
      enforcements = many();
      keeper.mark();
      await pass();
      expect(new Set(Object.values(states()))).toEqual(new Set(['Applied']));
    });
  });

  it('OpenWRT cannot have it: it says so, and what is deleted is not there', async () => {
    const deletionTimestamp = '2026-01-01T00:00:01Z';
    enforcements = [enforcement('web'), enforcement('gone', { deletionTimestamp })];
    start({ unsupported: 'no nft' });
    await pass();
    expect(states()).toEqual({ web: 'Failed: UnsupportedByDriver', gone: 'Removed' });
    expect(kernel.loads).toEqual([]);
  });

  it('not reached yet: it is tried again at once', async () => {
    isReached = false;
    start();
    await pass(1_000);
    expect(states()).toEqual({ web: 'Pending: Applying' });
    isReached = true;
    await pass(300);
    expect(kernel.loads).toEqual(['whole']);
  });

  it('not reached yet: it is loaded as soon as it is', async () => {
    isReached = false;
    start();
    await pass(STEP_MS);
    isReached = true;
    keeper.onReached();
    await pass(STEP_MS);
    expect(kernel.loads).toEqual(['whole']);
  });

  it('is tried again at once when it lacks a session', async () => {
    start({ hasSession: false });
    await pass(2_000);
    kernel.hasSession = true;
    await pass(500);
    expect(states()).toEqual({ web: 'Applied' });
  });

  it('stays as it is on a paused pod', async () => {
    isPaused = true;
    start();
    await pass(10_000);
    expect(kernel.loads).toEqual([]);
    expect(states()).toEqual({ web: 'Pending: Paused' });
  });
});
