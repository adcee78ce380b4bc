import { expect, it } from 'vitest';
import {
  cnfDeploymentResource,
  type CnfDeployment,
  type CnfDeploymentStatus,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import {
  fleetDeployments,
  fleetReplicaSets,
  type FleetDeployment,
  type FleetReplicaSet,
} from '../../controllers/fleet/apps.ts';
import { runCli } from '../testing.ts';
import { adopted } from './adopt.ts';
import { paused, promoted, undone } from './change.ts';
import { isAtRest, isGivenUp, statusLines } from './view.ts';

const NOW = Date.parse('2026-01-01T00:05:00Z');
const labels = { sdewanPurpose: 'cnf-1' };
const template = (image: string, annotations?: object) => ({
  metadata: { labels, ...(annotations && { annotations }) },
  spec: { containers: [{ name: 'openwrt', image }] },
});

const cnf = (
  status: CnfDeploymentStatus,
  { spec = {}, annotations }: { spec?: object; annotations?: Record<string, string> } = {},
): CnfDeployment =>
  cnfDeploymentResource.schema.parse({
    apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
    kind: 'CNFDeployment',
    metadata: {
      name: 'cnf-1',
      namespace: 'edge',
      uid: 'u',
      resourceVersion: '7',
      generation: 3,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...(annotations && { annotations }),
    },
    spec: { selector: { matchLabels: labels }, template: template('o:2'), replicas: 3, ...spec },
    status: { observedGeneration: 3, readyReplicas: 3, ...status },
  });

const set = (
  revision: number,
  hash: string,
  of: object = template(`o:${revision}`),
): FleetReplicaSet => {
  const { metadata, ...rest } = Object(of);
  return fleetReplicaSets.schema.parse({
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `cnf-1-${hash}`,
      uid: hash,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { 'pod-template-hash': hash },
      annotations: { 'deployment.kubernetes.io/revision': String(revision) },
    },
    spec: {
      template: {
        ...rest,
        metadata: { ...metadata, labels: { ...labels, 'pod-template-hash': hash } },
      },
    },
    status: { replicas: revision },
  });
};

const CURRENT = { stage: 'Current', currentRevision: 'b' };
const STAGED = {
  stage: 'Connected',
  stageTime: '2026-01-01T00:04:00Z',
  currentRevision: 'a',
  stagedRevision: 'b',
  staged: { since: '2026-01-01T00:04:00Z' },
  waitsFor: ['FirewallRule deny-ssh: WaitingForInterface (on cnf-1-b-x)'],
  excused: ['Mwan3Policy never'],
};
const FAILED = {
  stage: 'Failed',
  revisions: { current: 1, failed: 2 },
  currentRevision: 'a',
  failedRevision: 'b',
  failed: { template: 't', message: 'FirewallRule deny-ssh: Refused (on cnf-1-b-x)' },
};

it('says where a roll-out is, and what it waits for', () => {
  expect(statusLines(cnf(STAGED), NOW)).toEqual([
    'cnf-1: Connected, for 60s: 3 of 3 pods are ready',
    'serves: a',
    'staged: b',
    'waits for: FirewallRule deny-ssh: WaitingForInterface (on cnf-1-b-x)',
    'does not wait for: Mwan3Policy never',
  ]);
});

it('says why a template has failed', () => {
  expect(statusLines(cnf(FAILED), NOW)).toEqual([
    'cnf-1: Failed: 3 of 3 pods are ready',
    'serves: revision 1 (a)',
    'failed: revision 2 (b): FirewallRule deny-ssh: Refused (on cnf-1-b-x)',
  ]);
});

it('prints what an agent has written without control characters', () => {
  const waitsFor = ['a rule\u001b[31m\nred'];
  expect(statusLines(cnf({ ...STAGED, waitsFor }), NOW)).toContain(
    'waits for: a rule\\u001b[31m red',
  );
});

it('tells one that the coordinator may not write, or has not looked at', () => {
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  const forbidden = {
    type: 'Degraded',
    status: 'True' as const,
    reason: 'Forbidden',
    message: 'bind it',
    lastTransitionTime,
  };
  expect(statusLines(cnf({ ...CURRENT, conditions: [forbidden] }), NOW)).toContain(
    'trouble: bind it',
  );
  expect(statusLines(cnf({ ...CURRENT, observedGeneration: 2, message: 'why' }), NOW)).toEqual([
    'cnf-1: the coordinator has not come to it yet: why',
  ]);
});

it.each<[string, CnfDeploymentStatus, boolean, boolean]>([
  ['one set serves', CURRENT, true, false],
  ['not each pod is ready', { ...CURRENT, readyReplicas: 2 }, false, false],
  [
    'the coordinator has not seen the template',
    { ...CURRENT, observedGeneration: 2 },
    false,
    false,
  ],
  ['a set is staged', STAGED, false, false],
  ['the template has failed', FAILED, false, true],
  ['another has failed before', { ...FAILED, observedGeneration: 2 }, false, false],
])('tells whether it has ended: %s', (_, status, ended, failed) => {
  expect([isAtRest(cnf(status)), isGivenUp(cnf(status))]).toEqual([ended, failed]);
});

const valuesOf = ({ patch }: ReturnType<typeof undone>): unknown[] =>
  patch?.type === 'json' ? patch.body.map(({ value }) => value) : [];

it.each<[string, CnfDeploymentStatus, number | undefined, string]>([
  ['at rest to the set before', CURRENT, undefined, 'o:3'],
  ['of a staged set to the one that serves', STAGED, undefined, 'o:1'],
  ['of one that has failed to the one that serves', FAILED, undefined, 'o:1'],
  ['to a number', CURRENT, 1, 'o:1'],
])('undoes %s', (_, status, to, image) => {
  const change = undone(cnf(status), [set(1, 'a'), set(2, 'b'), set(3, 'c')], to);
  expect(valuesOf(change)).toEqual(['u', '7', template(image), {}]);
});

it('undoes a restart: the annotation is that of the set, so that its hash is the same', () => {
  const annotations = { 'fleet.sdewan.akraino.org/roll-set': 'now', mine: 'x' };
  const change = undone(
    cnf(STAGED, { annotations }),
    [set(1, 'a', template('o:2')), set(2, 'b')],
    undefined,
  );
  expect(valuesOf(change)).toEqual(['u', '7', template('o:2'), { mine: 'x' }]);
  const back = undone(
    cnf(CURRENT),
    [
      set(
        1,
        'a',
        template('o:1', {
          'fleet.sdewan.akraino.org/roll-set': 'then',
          'kubectl.kubernetes.io/restartedAt': 'x',
          version: '1',
        }),
      ),
    ],
    1,
  );
  expect(valuesOf(back)).toEqual([
    'u',
    '7',
    template('o:1', { version: '1' }),
    { 'fleet.sdewan.akraino.org/roll-set': 'then' },
  ]);
});

it.each<[string, () => { patch?: unknown; said: string }, string]>([
  [
    'no revision before',
    () => undone(cnf(CURRENT), [set(2, 'b')], undefined),
    'there is no revision before',
  ],
  ['no such revision', () => undone(cnf(CURRENT), [set(2, 'b')], 9), 'there is no revision 9'],
  [
    'the same template',
    () => undone(cnf(CURRENT), [set(2, 'b')], 2),
    'is that of revision 2 (b) already',
  ],
  [
    'what is paused',
    () => paused(cnf(CURRENT, { spec: { paused: true } }), true),
    'is paused already',
  ],
  ['what is not paused', () => paused(cnf(CURRENT), false), 'is not paused already'],
  ['nothing to promote', () => promoted(cnf(CURRENT)), 'nothing is staged'],
  [
    'a set that has failed',
    () => promoted(cnf({ ...STAGED, ...FAILED })),
    'the last template has failed',
  ],
  [
    'a set with the traffic',
    () => promoted(cnf({ ...STAGED, stage: 'Soaking' })),
    'has the traffic already',
  ],
  [
    'one that is paused',
    () => promoted(cnf(STAGED, { spec: { paused: true } })),
    'resume it first',
  ],
  [
    'Recreate',
    () => promoted(cnf(STAGED, { spec: { strategy: 'Recreate' } })),
    'holds nothing back',
  ],
])('changes nothing, and says why: %s', (_, change, words) => {
  const { patch, said } = change();
  expect(patch).toBeUndefined();
  expect(said).toContain(words);
});

it('promotes the set that is staged now, and no other', () => {
  expect(promoted(cnf(STAGED)).patch).toEqual({
    type: 'merge',
    body: {
      metadata: {
        uid: 'u',
        annotations: { 'fleet.sdewan.akraino.org/promote': 'b/2026-01-01T00:04:00Z' },
      },
    },
  });
});

it('refuses what it does not know', async () => {
  const unknown = await runCli(['rollout', 'rewind', 'cnf-1']);
  expect([unknown.code, unknown.said.join()]).toEqual([2, expect.stringContaining('rewind')]);
  const wrong = await runCli(['rollout', 'undo', 'cnf-1', '--to-revision', 'x']);
  expect([wrong.code, wrong.said.join()]).toEqual([2, expect.stringContaining('--to-revision')]);
});

const deployment = (changes: object = {}, spec: object = {}): FleetDeployment =>
  fleetDeployments.schema.parse({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: 'cnf-1',
      namespace: 'edge',
      uid: 'd',
      resourceVersion: '9',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...changes,
    },
    spec: { selector: { matchLabels: labels }, template: template('o:1'), ...spec },
  });
const ownedBy = (kind: string, name: string, uid: string) => ({
  ownerReferences: [{ apiVersion: 'x/v1', kind, name, uid, controller: true }],
});

it('adopts a Deployment that nothing controls, and keeps its other owners', () => {
  const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'o' };
  const { patch } = adopted(cnf({}), deployment({ ownerReferences: [other] }), []);
  expect(patch?.body).toEqual([
    { op: 'test', path: '/metadata/uid', value: 'd' },
    { op: 'test', path: '/metadata/resourceVersion', value: '9' },
    {
      op: 'add',
      path: '/metadata/ownerReferences',
      value: [
        other,
        {
          apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
          kind: 'CNFDeployment',
          name: 'cnf-1',
          uid: 'u',
          controller: true,
        },
      ],
    },
  ]);
});

it.each<[string, FleetDeployment | undefined, string[], string]>([
  ['nothing', undefined, [], 'the coordinator makes one'],
  ['a StatefulSet', undefined, ['StatefulSet'], 'a StatefulSet cannot be adopted'],
  ['a DaemonSet', undefined, ['DaemonSet'], 'a DaemonSet cannot be adopted'],
  ['its own', deployment(ownedBy('CNFDeployment', 'cnf-1', 'u')), [], 'is its own already'],
  [
    'that of an earlier CNFDeployment of the name',
    deployment(ownedBy('CNFDeployment', 'cnf-1', 'u0')),
    [],
    'is controlled by CNFDeployment cnf-1',
  ],
  ['that of an operator', deployment(ownedBy('Site', 's', 'x')), [], 'is controlled by Site s'],
  ['one that goes', deployment({ deletionTimestamp: 'now' }), [], 'is being deleted'],
  [
    'another selector',
    deployment({}, { selector: { matchLabels: { app: 'x' } } }),
    [],
    'spec.selector of Deployment cnf-1 is {"matchLabels":{"app":"x"}}',
  ],
  [
    'another purpose',
    deployment({}, { template: { metadata: { labels: { sdewanPurpose: 'cnf-2' } } } }),
    [],
    'serves purpose cnf-2, and the CNFDeployment cnf-1',
  ],
])('does not adopt %s', (_, found, others, words) => {
  const { patch, said } = adopted(cnf({}), found, others);
  expect(patch).toBeUndefined();
  expect(said).toContain(words);
});
