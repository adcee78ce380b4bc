import { describe, expect, it } from 'vitest';

import type { Pod, PodCondition } from '../kube/objects.ts';
import {
  createContainerState,
  onEnded,
  onStarted,
  type ContainerState,
} from './container-state.ts';
import { buildPodStatus, type StatusInput } from './pod-status.ts';

const NOW = Date.parse('2026-01-01T00:00:10Z');
const pod: Pod = {
  metadata: { name: 'p', namespace: 'n', uid: 'u', generation: 3 },
  spec: { containers: [] },
};
const fresh = createContainerState({ name: 'main', image: 'i' }, 'main');
const running = onStarted(fresh, 'id', NOW - 5000);
const crash = (state: ContainerState): ContainerState =>
  onEnded(onStarted(state, 'id', NOW - 2000), {
    exitCode: 2,
    reason: 'Error',
    startedAt: NOW - 2000,
    finishedAt: NOW,
    containerId: 'id',
  });

const build = (containers: ContainerState[], more: Partial<StatusInput> = {}) =>
  buildPodStatus({
    pod,
    previous: [],
    containers,
    podIP: '127.2.0.2',
    hostIP: '127.0.0.1',
    startTime: NOW - 6000,
    isSetUp: true,
    now: NOW,
    ...more,
  });
const condition = (conditions: PodCondition[] | undefined, type: string) =>
  conditions?.find((each) => each.type === type);

describe('buildPodStatus', () => {
  it('of a pod that runs', () => {
    expect(build([running])).toMatchObject({
      phase: 'Running',
      observedGeneration: 3,
      podIP: '127.2.0.2',
      podIPs: [{ ip: '127.2.0.2' }],
      startTime: '2026-01-01T00:00:04Z',
      containerStatuses: [
        {
          name: 'main',
          ready: true,
          started: true,
          restartCount: 0,
          imageID: 'process://i',
          containerID: 'process://id',
          state: { running: { startedAt: '2026-01-01T00:00:05Z' } },
          lastState: {},
        },
      ],
    });
  });

  it('of a container that waits for its next start', () => {
    const [status] = build([crash(crash(fresh))]).containerStatuses ?? [];
    expect(status).toMatchObject({
      ready: false,
      restartCount: 1,
      state: {
        waiting: {
          reason: 'CrashLoopBackOff',
          message: 'back-off 1s restarting failed container=main pod=p_n(u)',
        },
      },
      lastState: { terminated: { exitCode: 2 } },
    });
  });

  it('of a container that does not come back', () => {
    const never = { ...pod, spec: { ...pod.spec, restartPolicy: 'Never' as const } };
    const status = build([crash(fresh)], { pod: never, finished: 'Failed' });
    expect(status.containerStatuses?.[0]?.state.terminated?.exitCode).toBe(2);
    expect(condition(status.conditions, 'Ready')).toMatchObject({ reason: 'PodFailed' });
  });

  it('keeps the time of a condition that has not changed, and only of such', () => {
    const previous: PodCondition[] = ['Ready', 'Initialized'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: '2026-01-01T00:00:05Z',
    }));
    const { conditions } = build([crash(fresh)], { previous });
    expect(condition(conditions, 'Initialized')?.lastTransitionTime).toBe('2026-01-01T00:00:05Z');
    expect(condition(conditions, 'Ready')?.lastTransitionTime).toBe('2026-01-01T00:00:10Z');
  });

  it('waits for readiness gates', () => {
    const gated = { ...pod, spec: { ...pod.spec, readinessGates: [{ conditionType: 'x/y' }] } };
    const { conditions } = build([running], { pod: gated });
    expect(condition(conditions, 'ContainersReady')?.status).toBe('True');
    expect(condition(conditions, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ReadinessGatesNotReady',
    });
  });

  it('leaves conditions of others alone', () => {
    const types = build([running]).conditions?.map(({ type }) => type);
    expect(types).not.toContain('PodScheduled');
  });

  it('counts sidecars for readiness, init containers not', () => {
    const side = createContainerState({ name: 'side', image: 'i' }, 'sidecar');
    const init = createContainerState({ name: 'init', image: 'i' }, 'init');
    const { conditions } = build([init, side, running]);
    expect(condition(conditions, 'ContainersReady')?.message).toBe(
      'containers with unready status: [side]',
    );
  });
});
