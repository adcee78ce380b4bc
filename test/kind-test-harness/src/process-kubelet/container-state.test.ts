import { describe, expect, it } from 'vitest';

import { createContainerState, onEnded, onImageMissing, onStarted } from './container-state.ts';

const fresh = createContainerState({ name: 'main', image: 'i' }, 'main');
const run = (state: typeof fresh, at: number, livedMs = 10) =>
  onEnded(onStarted(state, 'id', at), {
    exitCode: 1,
    reason: 'Error',
    startedAt: at,
    finishedAt: at + livedMs,
    containerId: 'id',
  });

describe('restarts', () => {
  it('are delayed by 0, 1, 2, 4 … 60 seconds', () => {
    let state = fresh;
    const delays: number[] = [];
    for (let round = 0; round < 9; round += 1) {
      state = run(state, state.notBefore);
      const end = state.phase.kind === 'terminated' ? state.phase.finishedAt : 0;
      delays.push((state.notBefore - end) / 1000);
    }
    expect(delays).toEqual([0, 1, 2, 4, 8, 16, 32, 60, 60]);
    expect(state.restartCount).toBe(8);
  });

  it('come at once again after a long life', () => {
    const long = run(run(run(fresh, 0), 0), 0, 700_000);
    expect(long.notBefore).toBe(700_000);
  });

  it('remember the end before', () => {
    const again = onStarted(run(fresh, 0), 'id2', 20);
    expect(again.lastTermination).toMatchObject({ exitCode: 1, finishedAt: 10 });
    expect(again).toMatchObject({ restartCount: 1, started: true, ready: true });
  });
});

describe('a missing image', () => {
  it('is no restart when it comes', () => {
    const missing = onImageMissing(onImageMissing(fresh, 0), 1000);
    expect(missing.phase).toMatchObject({ reason: 'ImagePullBackOff' });
    expect(onStarted(missing, 'id', 2000)).toMatchObject({
      restartCount: 0,
      lastTermination: undefined,
    });
  });
});
