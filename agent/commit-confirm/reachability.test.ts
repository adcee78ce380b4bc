import { describe, expect, it } from 'vitest';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { createTargets, type Target } from './reachability.ts';

const NEVER = new AbortController().signal;

/** Answers, refuses or hangs as the test says; counts its connections. */
const targetWith = (answer: (at: number) => 'answers' | 'refuses' | 'hangs') => {
  const clock = createManualClock();
  const begun: number[] = [];
  let open = 0;
  const target: Target = {
    name: 'the API server',
    patienceMs: 700,
    connect: (signal) => {
      begun.push(clock.monotonic());
      open += 1;
      return new Promise<void>((resolve, reject) => {
        const how = answer(clock.monotonic());
        if (how === 'answers') resolve();
        if (how === 'refuses') reject(new Error('refused'));
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      }).finally(() => {
        open -= 1;
      });
    },
  };
  const targets = createTargets([target], clock);
  const until = async <T>(work: Promise<T>): Promise<T> => {
    let done = false;
    void work.then(
      () => (done = true),
      () => (done = true),
    );
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (done) return work;
      await clock.step();
    }
  };
  return { clock, target, targets, begun, open: () => open, until };
};

describe('whether a target is lost', () => {
  it.each(['refuses', 'hangs'] as const)(
    'says so of one that %s, after three new connections and five seconds',
    async (how) => {
      const { clock, target, targets, begun, open, until } = targetWith(() => how);
      expect(await until(targets.lost([target], NEVER))).toEqual([target]);
      expect(begun).toEqual([0, 1_700, 3_400]);
      expect(clock.monotonic()).toBe(5_000);
      expect(open()).toBe(0);
    },
  );

  it('denies it of one that answers at once, with one connection', async () => {
    const { clock, target, targets, begun, until } = targetWith(() => 'answers');
    expect(await until(targets.lost([target], NEVER))).toEqual([]);
    expect(begun).toEqual([0]);
    expect(clock.monotonic()).toBe(0);
  });

  it('denies it of one that answers the third connection only', async () => {
    const { target, targets, begun, open, until } = targetWith((at) =>
      at < 3_000 ? 'hangs' : 'answers',
    );
    expect(await until(targets.lost([target], NEVER))).toEqual([]);
    expect(begun).toHaveLength(3);
    await new Promise((resolve) => setImmediate(resolve));
    expect(open()).toBe(0);
  });
});

describe('a look of a process that stands still', () => {
  const lookWith = (stalls: number) => {
    let stalled = 0;
    const machine = targetWith(() => (stalled <= stalls ? 'hangs' : 'answers'));
    const { clock, target } = machine;
    const late = {
      ...clock,
      monotonic: () => clock.monotonic() + Math.min(stalled, stalls) * 4_000,
    };
    const connect: Target['connect'] = (signal) => {
      if (machine.begun.length % 3 === 0) stalled += 1;
      return target.connect(signal);
    };
    const standing = { ...target, connect };
    const targets = createTargets([standing], late);
    return { ...machine, lost: () => targets.lost([standing], NEVER), standing };
  };

  it('says nothing, and the next one decides', async () => {
    const { begun, lost, until } = lookWith(1);
    expect(await until(lost())).toEqual([]);
    expect(begun).toHaveLength(4);
  });

  it('decides when it is the third', async () => {
    const { begun, lost, standing, until } = lookWith(3);
    expect(await until(lost())).toEqual([standing]);
    expect(begun).toHaveLength(9);
  });
});

describe('who answers before a change', () => {
  it('is known for ten seconds', async () => {
    const { clock, target, targets, begun, until } = targetWith(() => 'answers');
    expect(await until(targets.answering(NEVER))).toEqual([target]);
    clock.advance(9_999);
    expect(await until(targets.answering(NEVER))).toEqual([target]);
    expect(begun).toHaveLength(1);
    clock.advance(1);
    await until(targets.answering(NEVER));
    expect(begun).toHaveLength(2);
  });

  it('is not waited for longer than its patience, and not again for ten seconds', async () => {
    const { clock, targets, begun, until } = targetWith(() => 'hangs');
    expect(await until(targets.answering(NEVER))).toEqual([]);
    expect(clock.monotonic()).toBe(700);
    expect(await until(targets.answering(NEVER))).toEqual([]);
    expect(begun).toHaveLength(1);
  });

  it('does not include a target that was lost since', async () => {
    const { clock, target, targets, until } = targetWith((at) => (at < 1 ? 'answers' : 'refuses'));
    await until(targets.answering(NEVER));
    clock.advance(1);
    await until(targets.lost([target], NEVER));
    expect(await until(targets.answering(NEVER))).toEqual([]);
  });
});
