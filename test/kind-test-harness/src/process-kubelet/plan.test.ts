import { describe, expect, it } from 'vitest';

import {
  createContainerState,
  onEnded,
  onProbed,
  onStarted,
  type ContainerRole,
  type ContainerState,
} from './container-state.ts';
import { isInitialized, planPod, type RestartPolicy } from './plan.ts';

const NOW = 1_000_000;
const probe = { periodSeconds: 1, timeoutSeconds: 1, successThreshold: 1, failureThreshold: 1 };

const fresh = (name: string, role: ContainerRole = 'main', startupProbe = false): ContainerState =>
  createContainerState({ name, image: 'i', ...(startupProbe && { startupProbe: probe }) }, role);
const running = (state: ContainerState): ContainerState => onStarted(state, 'id', NOW - 10);
const ended = (state: ContainerState, exitCode: number): ContainerState =>
  onEnded(running(state), {
    exitCode,
    reason: '',
    startedAt: NOW - 10,
    finishedAt: NOW,
    containerId: 'id',
  });

const starts = (containers: ContainerState[], policy: RestartPolicy = 'Always', now = NOW) =>
  planPod(containers, policy, now).start.map(({ spec }) => spec.name);

describe('planPod', () => {
  it('starts all main containers at once', () => {
    expect(starts([fresh('a'), fresh('b')])).toEqual(['a', 'b']);
  });

  it('starts init containers one by one', () => {
    const [one, two, main] = [fresh('one', 'init'), fresh('two', 'init'), fresh('main')];
    expect(starts([one, two, main])).toEqual(['one']);
    expect(starts([running(one), two, main])).toEqual([]);
    expect(starts([ended(one, 0), two, main])).toEqual(['two']);
    expect(starts([ended(one, 0), ended(two, 0), main])).toEqual(['main']);
  });

  it('waits for a sidecar to have started, not to end', () => {
    const [side, main] = [fresh('side', 'sidecar', true), fresh('main')];
    expect(starts([running(side), main])).toEqual([]);
    expect(starts([onProbed(running(side), { started: true }), main])).toEqual(['main']);
    expect(starts([running(fresh('side', 'sidecar')), main])).toEqual(['main']);
  });

  it('brings a sidecar back without stopping for it, once the pod was initialized', () => {
    const init = ended(fresh('init', 'init'), 0);
    const side = ended(fresh('side', 'sidecar'), 1);
    expect(starts([init, side, running(fresh('main'))])).toEqual(['side']);
    expect(starts([init, side, ended(fresh('main'), 1)])).toEqual(['side', 'main']);
  });

  it('does not start before the delay is over, and says when it will be', () => {
    const twice = ended(ended(fresh('main'), 1), 1);
    expect(planPod([twice], 'Always', NOW)).toEqual({ start: [], wakeAt: NOW + 1000 });
    expect(starts([twice], 'Always', NOW + 1000)).toEqual(['main']);
  });

  it.each<[RestartPolicy, number, string[], 'Succeeded' | 'Failed' | undefined]>([
    ['Always', 0, ['main'], undefined],
    ['Always', 1, ['main'], undefined],
    ['OnFailure', 0, [], 'Succeeded'],
    ['OnFailure', 1, ['main'], undefined],
    ['Never', 0, [], 'Succeeded'],
    ['Never', 1, [], 'Failed'],
  ])(
    'has with policy %s after exit code %d the starts %j and the phase %s',
    (policy, code, names, phase) => {
      const plan = planPod([ended(fresh('main'), code)], policy, NOW);
      expect(plan.start.map(({ spec }) => spec.name)).toEqual(names);
      expect(plan.finished).toBe(phase);
    },
  );

  it('is not finished while one main container runs', () => {
    const containers = [ended(fresh('a'), 1), running(fresh('b'))];
    expect(planPod(containers, 'Never', NOW)).toEqual({ start: [] });
  });

  it('fails the pod with an init container that may not run again', () => {
    const containers = [ended(fresh('init', 'init'), 1), fresh('main')];
    expect(planPod(containers, 'Never', NOW).finished).toBe('Failed');
    expect(starts(containers, 'OnFailure')).toEqual(['init']);
  });

  it('is finished though sidecars run', () => {
    const containers = [running(fresh('side', 'sidecar')), ended(fresh('main'), 0)];
    expect(planPod(containers, 'Never', NOW).finished).toBe('Succeeded');
  });
});

describe('isInitialized', () => {
  it.each<[string, ContainerState[], boolean]>([
    ['there are no init containers', [fresh('main')], true],
    ['one has yet to run', [fresh('init', 'init'), fresh('main')], false],
    ['one has failed', [ended(fresh('init', 'init'), 1), fresh('main')], false],
    ['all are through', [ended(fresh('init', 'init'), 0), fresh('main')], true],
    ['a sidecar has ended since', [ended(fresh('s', 'sidecar'), 1), running(fresh('main'))], true],
  ])('holds when %s', (_, containers, expected) => {
    expect(isInitialized(containers)).toBe(expected);
  });
});
