/**
 * What can happen in a walk. Each step is data, so that a history can be printed, shrunk and walked
 * again.
 */
import * as fc from 'fast-check';
import { ORDER_ANNOTATION, PURPOSE_LABEL } from '#shared/names.ts';
import type { Pod } from './pod.ts';
import { WORDS } from './vocabulary.ts';
import { createFixture, type Fixture } from './fixture.ts';

export type Step = {
  does: keyof typeof STEPS;
  /** Which of those that there are, and how. */
  which: number;
  how: number;
  /** Until the next step. */
  waitMs: number;
};

export type History = { seed: number; steps: readonly Step[] };

const PURPOSES = ['cnf-a', 'cnf-b'];
const PODS = ['a-0', 'a-1', 'b-0'];
const purposeOfPod = (name: string): string => (name.startsWith('a') ? 'cnf-a' : 'cnf-b');

const pick = <T>(list: readonly T[], at: number): T | undefined =>
  list[at % Math.max(1, list.length)];
const word = (which: number) => WORDS[which % WORDS.length]!;
const withPod = (fixture: Fixture, which: number, act: (pod: Pod) => void): void => {
  const pod = pick([...fixture.pods.values()], which);
  if (pod) act(pod);
};
type Coordinator = NonNullable<ReturnType<Fixture['coordinators']['get']>>;

const withCoordinator = (
  fixture: Fixture,
  which: number,
  act: (coordinator: Coordinator) => void,
): void => {
  const coordinator = pick([...fixture.coordinators.values()], which);
  if (coordinator) act(coordinator);
};
/** Another of its name can have begun since, which goes on. */
const kill = (fixture: Fixture, { name, process }: Coordinator): void => {
  process.kill();
  if (fixture.coordinators.get(name)?.process === process) fixture.coordinators.delete(name);
};
/** The longest are a minute. */
const duration = (how: number): number => [500, 2_000, 7_000, 15_000, 60_000][how % 5]!;

export const STEPS = {
  create: (fixture: Fixture, which: number, how: number) =>
    fixture.createRule(word(which), {
      variant: how % 2,
      purpose: PURPOSES[how % 3 === 2 ? 1 : 0]!,
      hasFinalizer: how % 10 !== 9,
    }),
  update: (fixture: Fixture, which: number, how: number) =>
    fixture.updateRule(word(which), (rule) => ({
      ...rule,
      spec: pick(word(which).variants, how)!.spec,
    })),
  'move to a purpose': (fixture: Fixture, which: number, how: number) =>
    fixture.updateRule(word(which), (rule) => ({
      ...rule,
      metadata: { ...rule.metadata, labels: { [PURPOSE_LABEL]: PURPOSES[how % 2]! } },
    })),
  order: (fixture: Fixture, which: number, how: number) =>
    fixture.updateRule(word(which), (rule) => ({
      ...rule,
      metadata: { ...rule.metadata, annotations: { [ORDER_ANNOTATION]: String((how % 5) - 2) } },
    })),
  delete: (fixture: Fixture, which: number) => fixture.deleteRule(word(which)),
  'add a pod': (fixture: Fixture, which: number) => {
    const name = PODS[which % PODS.length]!;
    fixture.addPod(name, purposeOfPod(name));
  },
  'remove a pod': (fixture: Fixture, which: number, how: number) =>
    withPod(fixture, which, (pod) => pod.remove(1_000 + (how % 4) * 1_500, how % 5 === 4)),
  'kill an agent': (fixture: Fixture, which: number, how: number) =>
    withPod(fixture, which, (pod) => pod.restartAgent(1_000 + (how % 10) * 500)),
  'freeze an agent': (fixture: Fixture, which: number, how: number) =>
    withPod(fixture, which, (pod) => {
      const process = pod.agent();
      process.freeze();
      fixture.time.after(duration(how), process.thaw);
    }),
  'freeze an agent while OpenWRT restarts': (fixture: Fixture, which: number, how: number) =>
    withPod(fixture, which, (pod) => {
      const process = pod.agent();
      process.freeze();
      fixture.time.after(2_000 + (how % 6) * 1_000, process.thaw);
      pod.restartOpenwrt([1, 60, 400, 900, 1_500][how % 5]!);
    }),
  'restart OpenWRT': (fixture: Fixture, which: number, how: number) =>
    withPod(fixture, which, (pod) => pod.restartOpenwrt([20, 300, 1_000, 5_000][how % 4]!)),
  'rpcd away': (fixture: Fixture, which: number, how: number) =>
    withPod(fixture, which, ({ device }) => {
      if (!device.isUp) return;
      device.isUp = false;
      fixture.time.after(duration(how % 4), () => (device.isUp = true));
    }),
  'OpenWRT hangs': (fixture: Fixture, which: number, how: number) =>
    withPod(fixture, which, ({ device }) => {
      device.hangs = true;
      fixture.time.after(duration(how % 4), () => (device.hangs = false));
    }),
  'OpenWRT refuses': (fixture: Fixture, which: number, how: number) =>
    withPod(fixture, which, ({ device }) => {
      device.refuses =
        how % 3 === 0 ? new Set() : new Set(['sdewan_rule_web', 'sdewan_rule_ten'].slice(how % 2));
    }),
  'an administrator adds': (fixture: Fixture, which: number, how: number) =>
    withPod(fixture, which, ({ device }) => device.addForeign(`admin_${how % 3}`)),
  'an administrator removes': (fixture: Fixture, which: number, how: number) =>
    withPod(fixture, which, ({ device }) => device.removeOne(how)),
  'kill a coordinator': (fixture: Fixture, which: number, how: number) =>
    withCoordinator(fixture, which, (coordinator) => {
      kill(fixture, coordinator);
      fixture.time.after(500 + (how % 10) * 2_000, () => fixture.addCoordinator(coordinator.name));
    }),
  'stop a coordinator': (fixture: Fixture, which: number, how: number) =>
    withCoordinator(fixture, which, (coordinator) => {
      coordinator.process.stopping.abort();
      fixture.time.after(300, () => kill(fixture, coordinator));
      fixture.time.after(1_000 + (how % 10) * 1_000, () =>
        fixture.addCoordinator(coordinator.name),
      );
    }),
  'freeze a coordinator': (fixture: Fixture, which: number, how: number) =>
    withCoordinator(fixture, which, ({ process }) => {
      process.freeze();
      fixture.time.after(duration(how), process.thaw);
    }),
  'calls fail': (fixture: Fixture, _which: number, how: number) => {
    fixture.chaos.calls = [0, 0.1, 0.3, 0.6][how % 4]!;
  },
  'reports go astray': (fixture: Fixture, _which: number, how: number) => {
    fixture.chaos.reports = [0, 0.2, 0.5, 0.9][how % 4]!;
  },
  'watches are slow': (fixture: Fixture, _which: number, how: number) => {
    fixture.chaos.slowWatches = how % 2 === 1;
  },
  'watches end': (fixture: Fixture) => fixture.server.endWatches(),
  compact: (fixture: Fixture) => {
    fixture.server.compact();
    fixture.server.endWatches();
  },
  'events are repeated': (fixture: Fixture) => fixture.server.repeat(),
} as const;

const weights: Partial<Record<keyof typeof STEPS, number>> = {
  create: 6,
  update: 4,
  delete: 4,
  'add a pod': 2,
  // The API server refuses it (deploy/policies/purpose.yaml); found.test.ts has one from before
  // there was that policy.
  'move to a purpose': 0,
};

const isStep = (name: string): name is keyof typeof STEPS => Object.hasOwn(STEPS, name);
const namesOfSteps = (): (keyof typeof STEPS)[] => Object.keys(STEPS).filter(isStep);

const step: fc.Arbitrary<Step> = fc.record({
  does: fc.oneof(
    ...namesOfSteps().map((does) => ({
      arbitrary: fc.constant(does),
      weight: weights[does] ?? 1,
    })),
  ),
  which: fc.nat(11),
  how: fc.nat(29),
  waitMs: fc.oneof(fc.constantFrom(0, 20, 150), fc.nat(1_500), fc.nat(8_000)),
});

export const histories: fc.Arbitrary<History> = fc.record({
  seed: fc.nat(),
  steps: fc.array(step, { minLength: 1, maxLength: 16, size: 'max' }),
});

/** mulberry32 */
const randomOf = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

const BEGIN_MS = 4_000;
/** Longer than any backoff but one, and than an agent may be silent. */
const QUIET_MS = 180_000;
/**
 * A rule that OpenWRT has refused is tried again after longer and longer times, the longest of
 * which are half an hour.
 */
const QUIET_AFTER_REFUSALS_MS = 3_600_000;
const LOOK_MS = 3_000;

export class WalkError extends Error {
  override name = 'WalkError';
}

/** @throws WalkError with what went wrong, and all that happened */
export const walk = async ({ seed, steps }: History): Promise<void> => {
  const random = randomOf(seed);
  const original = Math.random;
  // Backoff and jitter of the code under test, too: or else a seed would not replay.
  Math.random = random;
  const fixture = createFixture(random);
  try {
    fixture.addCoordinator('one');
    fixture.addCoordinator('two');
    fixture.addPod('a-0', 'cnf-a');
    fixture.addPod('a-1', 'cnf-a');
    const check = (problems: readonly string[]): void => {
      if (problems.length > 0)
        throw new WalkError(`${problems.join('\n')}\n\n${fixture.journal.join('\n')}`);
    };
    for (const [at, one] of WORDS.entries())
      if ((seed >> at) % 2 === 0)
        fixture.createRule(one, { variant: at % 2, purpose: 'cnf-a', hasFinalizer: true });
    await fixture.time.pass(BEGIN_MS);
    for (const { does, which, how, waitMs } of steps) {
      fixture.journal.push(
        `${(fixture.time.monotonic() / 1_000).toFixed(3)} -- ${does} ${which} ${how}`,
      );
      STEPS[does](fixture, which, how);
      await fixture.time.pass(waitMs);
      check(fixture.violations);
    }
    fixture.heal();
    const hasRefused = steps.some(({ does }) => does === 'OpenWRT refuses');
    const quietMs = hasRefused ? QUIET_AFTER_REFUSALS_MS : QUIET_MS;
    for (let waited = 0; waited < quietMs; waited += LOOK_MS) {
      await fixture.time.pass(LOOK_MS);
      check(fixture.violations);
      if (fixture.whatIsWrong().length === 0) break;
    }
    check(fixture.whatIsWrong());
  } finally {
    await fixture.time.end();
    Math.random = original;
  }
};
