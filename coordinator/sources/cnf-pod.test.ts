import { describe, expect, it } from 'vitest';
import { cnfPodOf } from './cnf-pod.ts';

const agentContainer = {
  name: 'sdewan-agent',
  env: [
    { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'SDEWAN_PURPOSE', value: 'cnf-1' },
    { name: 'SDEWAN_WITHOUT_KINDS', value: 'IpsecHost,IpsecSite' },
  ],
};

const pod = (changes: { metadata?: object; spec?: object; status?: object } = {}): unknown => ({
  metadata: {
    namespace: 'edge',
    name: 'cnf-1-a',
    uid: 'pod-1',
    labels: { sdewanPurpose: 'cnf-1' },
    ...changes.metadata,
  },
  spec: {
    nodeName: 'node-1',
    containers: [{ name: 'sdewan' }],
    initContainers: [agentContainer],
    ...changes.spec,
  },
  status: {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True' }],
    containerStatuses: [{ name: 'sdewan', ready: true, restartCount: 0, state: { running: {} } }],
    initContainerStatuses: [
      {
        name: 'sdewan-agent',
        ready: true,
        restartCount: 2,
        state: { running: { startedAt: '2026-01-02T03:04:05Z' } },
      },
    ],
    ...changes.status,
  },
});

it('sees a ready pod with its agent', () => {
  expect(cnfPodOf(pod())).toEqual({
    namespace: 'edge',
    name: 'cnf-1-a',
    uid: 'pod-1',
    serves: 'cnf-1',
    purpose: 'cnf-1',
    owned: false,
    ready: true,
    notReady: '',
    troubled: false,
    terminating: false,
    finished: false,
    agent: { state: 'started', startedAt: Date.parse('2026-01-02T03:04:05Z') },
    othersStartedAt: undefined,
    withoutKinds: ['IpsecHost', 'IpsecSite'],
  });
});

it.each([
  ['a controller', [{ kind: 'ReplicaSet', controller: true }], true],
  ['an owner that does not control it', [{ kind: 'ConfigMap' }], false],
  ['none', undefined, false],
])('sees whether it has an owner: %s', (_, ownerReferences, owned) => {
  expect(cnfPodOf(pod({ metadata: { ownerReferences } })).owned).toBe(owned);
});

describe('the purpose', () => {
  it('is what the agent serves, even if the label was changed or taken away', () => {
    const relabelled = pod({ metadata: { labels: { sdewanPurpose: 'other' } } });
    expect(cnfPodOf(relabelled).purpose).toBe('cnf-1');
    expect(cnfPodOf(pod({ metadata: { labels: {} } })).purpose).toBe('cnf-1');
  });

  it('comes from the label when there is no agent', () => {
    const bare = cnfPodOf(pod({ spec: { initContainers: [] } }));
    expect(bare).toMatchObject({
      serves: undefined,
      purpose: 'cnf-1',
      agent: { state: 'missing' },
    });
  });

  it('is not taken from a field, a ConfigMap or a Secret', () => {
    const env = [
      {
        name: 'SDEWAN_PURPOSE',
        valueFrom: { fieldRef: { fieldPath: "metadata.labels['sdewanPurpose']" } },
      },
    ];
    const spec = { initContainers: [{ name: 'sdewan-agent', env }] };
    expect(cnfPodOf(pod({ spec })).serves).toBeUndefined();
  });
});

describe('the agent container', () => {
  const statuses: Record<string, { status: object[]; state: string }> = {
    'without any status has never started': { status: [], state: 'never-started' },
    'that waits for its image has never started': {
      status: [
        {
          name: 'sdewan-agent',
          restartCount: 0,
          state: { waiting: { reason: 'ErrImagePull' } },
          lastState: {},
        },
      ],
      state: 'never-started',
    },
    'that waits after a crash has started': {
      status: [
        {
          name: 'sdewan-agent',
          restartCount: 0,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: { terminated: { reason: 'Error' } },
        },
      ],
      state: 'started',
    },
    'with a restart counted has started': {
      status: [{ name: 'sdewan-agent', restartCount: 1, state: { waiting: {} } }],
      state: 'started',
    },
    'that has ended has started': {
      status: [
        { name: 'sdewan-agent', restartCount: 0, state: { terminated: { reason: 'Error' } } },
      ],
      state: 'started',
    },
  };
  it.each(Object.entries(statuses))('%s', (_name, { status, state }) => {
    expect(cnfPodOf(pod({ status: { initContainerStatuses: status } })).agent.state).toBe(state);
  });

  const earlier = { startedAt: '2026-01-02T03:04:05Z' };
  const later = { startedAt: '2026-01-02T03:04:09Z' };
  it.each<[string, object, string | undefined]>([
    ['runs', { state: { running: later }, lastState: { terminated: earlier } }, later.startedAt],
    [
      'has ended',
      { state: { terminated: later }, lastState: { terminated: earlier } },
      later.startedAt,
    ],
    [
      'waits after a crash',
      { state: { waiting: {} }, lastState: { terminated: later } },
      later.startedAt,
    ],
    ['has no times', { restartCount: 1, state: { running: { startedAt: null } } }, undefined],
  ])('has started when its latest run did, if it %s', (_name, states, startedAt) => {
    const status = { initContainerStatuses: [{ name: 'sdewan-agent', ...states }] };
    expect(cnfPodOf(pod({ status })).agent).toEqual({
      state: 'started',
      startedAt: startedAt && Date.parse(startedAt),
    });
  });

  it('may also be an ordinary container', () => {
    const spec = { initContainers: [], containers: [{ name: 'sdewan' }, agentContainer] };
    expect(cnfPodOf(pod({ spec })).serves).toBe('cnf-1');
  });
});

it('takes the other containers for started when the latest running one of them did', () => {
  const running = (name: string, startedAt: string) => ({
    name,
    state: { running: { startedAt } },
  });
  const status = {
    containerStatuses: [
      running('sdewan', '2026-01-02T03:04:07Z'),
      running('beside', '2026-01-02T03:04:06Z'),
      running('sdewan-agent', '2026-01-02T03:04:09Z'),
      { name: 'crashed', state: { terminated: { startedAt: '2026-01-02T03:04:08Z' } } },
    ],
  };
  expect(cnfPodOf(pod({ status })).othersStartedAt).toBe(Date.parse('2026-01-02T03:04:07Z'));
});

describe('a pod that is not ready has a reason whose text stays the same while the problem lasts', () => {
  const unready = { conditions: [{ type: 'Ready', status: 'False' }] };
  const reasons: Record<string, { status: object; says: string; troubled?: boolean }> = {
    'no node': {
      status: {
        conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
        containerStatuses: [],
        initContainerStatuses: [],
      },
      says: 'the pod is not scheduled (Unschedulable)',
    },
    'a scheduling gate': {
      status: {
        conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }],
        containerStatuses: [],
        initContainerStatuses: [],
      },
      says: 'the pod is not scheduled (SchedulingGated)',
      troubled: false,
    },
    'no image': {
      status: {
        ...unready,
        containerStatuses: [
          { name: 'sdewan', ready: false, state: { waiting: { reason: 'ImagePullBackOff' } } },
        ],
      },
      says: 'container sdewan is not ready (ImagePullBackOff)',
    },
    'no image, at the moment of a try': {
      status: {
        ...unready,
        containerStatuses: [
          { name: 'sdewan', ready: false, state: { waiting: { reason: 'ErrImagePull' } } },
        ],
      },
      says: 'container sdewan is not ready (ImagePullBackOff)',
    },
    ...Object.fromEntries(
      [
        { terminated: { reason: 'OOMKilled' } },
        { waiting: { reason: 'CrashLoopBackOff' } },
        { running: {} },
      ].map((state) => [
        `a container that ends again and again, ${Object.keys(state).join()}`,
        {
          status: {
            ...unready,
            containerStatuses: [
              {
                name: 'sdewan',
                ready: false,
                state,
                lastState: { terminated: { reason: 'OOMKilled' } },
              },
            ],
          },
          says: 'container sdewan is not ready (it has ended: OOMKilled)',
        },
      ]),
    ),
    'a container that starts': {
      status: {
        ...unready,
        containerStatuses: [
          { name: 'sdewan', ready: false, state: { waiting: { reason: 'ContainerCreating' } } },
        ],
      },
      says: 'container sdewan is not ready (ContainerCreating)',
      troubled: false,
    },
    'a failing probe': {
      status: {
        ...unready,
        containerStatuses: [{ name: 'sdewan', ready: false, state: { running: {} } }],
        initContainerStatuses: [
          { name: 'setup', ready: false, state: { terminated: { reason: 'Completed' } } },
        ],
      },
      says: 'container sdewan is not ready',
      troubled: false,
    },
    'no containers yet': {
      status: { conditions: [], containerStatuses: [], initContainerStatuses: [] },
      says: 'the pod is not ready',
      troubled: false,
    },
  };
  it.each(Object.entries(reasons))('%s', (_name, { status, says, troubled = true }) => {
    expect(cnfPodOf(pod({ status }))).toMatchObject({ ready: false, notReady: says, troubled });
  });
});

it('recognizes pods that are finished or terminating', () => {
  expect(cnfPodOf(pod({ status: { phase: 'Failed' } })).finished).toBe(true);
  expect(cnfPodOf(pod({ status: { phase: 'Succeeded' } })).finished).toBe(true);
  const going = { deletionTimestamp: '2026-01-02T03:04:05Z' };
  expect(cnfPodOf(pod({ metadata: going })).terminating).toBe(true);
});

it('refuses what is no Pod', () => {
  expect(() => cnfPodOf({ kind: 'Status' })).toThrow('metadata');
});
