import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { namedSection, ruleOf } from '#shared/compile/testing.ts';
import { createKernelDrift } from './kernel-repair.ts';
import type { PassState } from './pass-state.ts';
import { NOTHING_KNOWN } from './rule-states.ts';
import { packageOf, sectionOf } from './takeover.ts';
import { NOTHING_RECORDED } from './testing.ts';

/** The longest that a first retry waits, by BACKOFF. */
const FIRST_RETRY_MS = 2_000;

const stateOf = (...lacking: string[]): PassState => {
  const sections = ['a', 'b'].map((name) => namedSection('rule', name));
  const keys = ['firewall.a', 'firewall.b', 'network.a', 'network.b'];
  const state: Pick<PassState, 'packages' | 'kernel' | 'kinds' | 'ledger' | 'input' | 'doubtful'> =
    {
      kinds: [],
      packages: new Map(['firewall', 'network'].map((name) => [name, { name, sections }] as const)),
      ledger: {
        ...NOTHING_RECORDED,
        owned: new Map(keys.map((key) => [key, 'FirewallRule'])),
      },
      input: {
        rules: [],
        secrets: new Map(),
        networks: new Map(),
        devices: { defaultRoute: undefined, byAddress: new Map() },
        unservedKinds: [],
        quiet: false,
        paused: false,
      },
      doubtful: new Set(['mwan3']),
      kernel: { lacking: byPackage(lacking), incomparable: new Map(), unread: undefined },
    };
  // What the other fields are makes no difference here.
  return state as PassState;
};

const byPackage = (keys: readonly string[]): Map<string, Map<string, string>> => {
  const packages = new Map<string, Map<string, string>>();
  for (const key of keys) {
    const [name = '', section = ''] = key.split('.');
    packages.set(name, (packages.get(name) ?? new Map()).set(section, 'is gone'));
  }
  return packages;
};

const standingOf = (inForce: readonly string[], lacking: readonly string[]) => ({
  ...NOTHING_KNOWN,
  verdicts: [
    {
      rule: ruleOf('FirewallRule', 'all', {}),
      revision: '',
      generationInForce: 1,
      verdict: 'wanted' as const,
      reason: 'Applying' as const,
      message: '',
      sections: inForce.map((key) => ({ package: packageOf(key), name: sectionOf(key) })),
    },
  ],
  lacking: new Map(lacking.map((key) => [key, 'is gone'])),
});

describe('what the kernel lacks', () => {
  let clock = createManualClock();
  let drift = createKernelDrift(clock);
  beforeEach(() => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    clock = createManualClock();
    drift = createKernelDrift(clock);
  });
  afterEach(() => void vi.restoreAllMocks());
  const found = (...lacking: string[]) => {
    const { state, drifted } = drift.found(stateOf(...lacking));
    return { doubtful: [...state.doubtful], drifted: [...drifted] };
  };

  it('makes its packages reload, once each, and counts as drift only where it was in force', () => {
    expect(found('firewall.a', 'firewall.b')).toEqual({
      doubtful: ['mwan3', 'firewall'],
      drifted: [],
    });
    drift.left(standingOf(['firewall.a', 'network.a', 'network.b'], []));
    expect(found('firewall.b', 'network.a', 'network.b')).toEqual({
      doubtful: ['mwan3', 'firewall', 'network'],
      drifted: ['network.a', 'network.b'],
    });
  });

  it('is left alone where OpenWRT has refused it', () => {
    const refused = stateOf('firewall.a');
    const ledger = { ...refused.ledger, warnings: new Map([['firewall', new Map([['a', 'no']])]]) };
    expect([...drift.found({ ...refused, ledger }).state.doubtful]).toEqual(['mwan3']);
  });

  it('is left alone after a repair that did not help, until it is time to try again', () => {
    drift.left(standingOf([], ['firewall.a']));
    expect(drift.isDue()).toBe(false);
    expect(found('firewall.a').doubtful).toEqual(['mwan3']);
    expect(found('firewall.a', 'network.a').doubtful).toEqual(['mwan3', 'network']);
    clock.advance(FIRST_RETRY_MS);
    expect(drift.isDue()).toBe(true);
    expect(found('firewall.a').doubtful).toEqual(['mwan3', 'firewall']);
  });

  it('is tried again at growing intervals, which other passes do not extend', () => {
    const waits: number[] = [];
    drift.left(standingOf([], ['firewall.a']));
    for (let tries = 0; tries < 5; tries += 1) {
      let waited = 0;
      while (!drift.isDue()) {
        drift.left(standingOf([], ['firewall.a']));
        clock.advance(100);
        waited += 100;
      }
      waits.push(waited);
      drift.left(standingOf([], ['firewall.a']));
    }
    const [first = 0, ...later] = waits;
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThanOrEqual(FIRST_RETRY_MS);
    expect(later.every((ms, index) => ms > (waits[index] ?? 0))).toBe(true);
  });

  it('is forgotten when everything is back: the next loss starts over', () => {
    drift.left(standingOf([], ['firewall.a']));
    for (let tries = 0; tries < 5; tries += 1) {
      clock.advance(300_000);
      drift.left(standingOf([], ['firewall.a']));
    }
    drift.left(standingOf(['firewall.a'], []));
    clock.advance(600_000);
    expect(drift.isDue()).toBe(false);
    expect(found('firewall.a')).toEqual({
      doubtful: ['mwan3', 'firewall'],
      drifted: ['firewall.a'],
    });
    drift.left(standingOf([], ['firewall.a']));
    clock.advance(FIRST_RETRY_MS);
    expect(drift.isDue()).toBe(true);
  });
});
