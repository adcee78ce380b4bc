import { describe, expect, it } from 'vitest';
import {
  cnfDeploymentResource,
  type CnfDeployment,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import { isControlledBy } from '#shared/kube/owned.ts';
import { newestSet, fleetDeployments, fleetReplicaSets, revisionNumberOf } from './apps.ts';
import {
  askedTemplate,
  deploymentBody,
  templateHash,
  templateOfSet,
  wantedSpec,
} from './deployment.ts';

const labels = { sdewanPurpose: 'cnf-1' };
const spec = {
  selector: { matchLabels: labels },
  template: {
    metadata: { labels, annotations: { mine: 'x' } },
    spec: { containers: [{ name: 'openwrt', image: 'o' }] },
  },
};
const cnf = (changes: object = {}, annotations?: Record<string, string>): CnfDeployment =>
  cnfDeploymentResource.schema.parse({
    apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
    kind: 'CNFDeployment',
    metadata: {
      name: 'cnf-1',
      namespace: 'edge',
      uid: 'uid-1',
      creationTimestamp: '',
      ...(annotations && { annotations }),
    },
    spec: { ...spec, ...changes },
  });
const metadata = {
  name: 'cnf-1',
  namespace: 'edge',
  uid: 'uid-d',
  resourceVersion: '7',
  creationTimestamp: '',
};
const deployment = (changes: object = {}, template: object = spec.template) =>
  fleetDeployments.schema.parse({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...metadata, ...changes },
    spec: { template },
    status: { observedGeneration: 2 },
  });
const replicaSet = (hash: string, revision: string) =>
  fleetReplicaSets.schema.parse({
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      ...metadata,
      name: `cnf-1-${hash}`,
      labels: { 'pod-template-hash': hash },
      annotations: { 'deployment.kubernetes.io/revision': revision },
    },
    spec: {
      template: {
        ...spec.template,
        metadata: { labels: { ...labels, 'pod-template-hash': hash }, annotations: { mine: 'x' } },
      },
    },
  });

describe('the template of a CNFDeployment', () => {
  it('is that of its spec, whole', () => {
    expect(askedTemplate(cnf(), undefined)).toEqual(spec.template);
  });

  it('becomes another one by annotation roll-set, and by kubectl rollout restart of the Deployment', () => {
    const hash = (of: CnfDeployment, present = deployment()) =>
      templateHash(askedTemplate(of, present));
    const rolled = hash(cnf({}, { 'fleet.sdewan.akraino.org/roll-set': '1' }));
    expect(rolled).not.toBe(hash(cnf()));
    expect(hash(cnf({}, { 'fleet.sdewan.akraino.org/roll-set': '2' }))).not.toBe(rolled);
    const annotations = { 'kubectl.kubernetes.io/restartedAt': 'now', theirs: 'y' };
    const restarted = deployment({}, { ...spec.template, metadata: { labels, annotations } });
    expect(askedTemplate(cnf(), restarted).metadata?.annotations).toEqual({
      mine: 'x',
      'kubectl.kubernetes.io/restartedAt': 'now',
    });
  });

  it('stays the same with replicas, times and a pause', () => {
    const other = cnf({ replicas: 3, soakSeconds: 7, progressDeadline: '1h', paused: true });
    expect(templateHash(askedTemplate(other, undefined))).toBe(
      templateHash(askedTemplate(cnf(), undefined)),
    );
  });

  it('is told from ten thousand others by its hash, which is the same whenever it is made', () => {
    const hashOf = (version: number): string =>
      templateHash(
        askedTemplate(cnf({}, { 'fleet.sdewan.akraino.org/roll-set': String(version) }), undefined),
      );
    const versions = Array.from({ length: 10_000 }, (_, version) => version);
    expect(new Set(versions.map(hashOf)).size).toBe(versions.length);
    expect(hashOf(7)).toBe(hashOf(7));
  });

  it('has not the hash of a set that was made before', () => {
    expect(templateOfSet(replicaSet('a', '1'))).toEqual(spec.template);
  });
});

describe('the Deployment', () => {
  it('lets Kubernetes make the new pods first, and take the old ones after the soak', () => {
    expect(wantedSpec(cnf({ soakSeconds: 1_200, progressDeadline: '1h30m5s' }), {})).toEqual({
      replicas: 1,
      selector: spec.selector,
      template: {},
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '100%', maxUnavailable: 0 } },
      minReadySeconds: 1_200,
      // Kubernetes refuses one that is not longer than minReadySeconds.
      progressDeadlineSeconds: 5_405 + 1_200 + 600,
      revisionHistoryLimit: 10,
      paused: false,
    });
    expect(wantedSpec(cnf({ strategy: 'Recreate' }), {})).toMatchObject({
      strategy: { type: 'Recreate' },
      minReadySeconds: 0,
    });
  });

  it.each([
    [0, 3],
    [2, 3],
    [4, 4],
  ])('has both sets with soakSeconds %d for %d s', (soakSeconds, seconds) => {
    expect(wantedSpec(cnf({ soakSeconds, progressDeadline: '1m' }), {})).toMatchObject({
      minReadySeconds: seconds,
      progressDeadlineSeconds: 60 + seconds + 600,
    });
  });

  it('keeps what others have put on it, and the version that was seen', () => {
    const theirs = { apiVersion: 'v1', kind: 'Other', name: 'o', uid: 'uid-o' };
    const present = deployment({
      labels: { theirs: 'x' },
      annotations: { theirs: 'y' },
      finalizers: ['theirs/z'],
      ownerReferences: [theirs],
    });
    const { metadata: written } = deploymentBody(cnf(), {}, present);
    expect(written).toMatchObject({
      uid: 'uid-d',
      resourceVersion: '7',
      annotations: { theirs: 'y' },
      finalizers: ['theirs/z'],
      labels: {
        theirs: 'x',
        sdewanPurpose: 'cnf-1',
        'app.kubernetes.io/managed-by': 'sdewan-coordinator',
      },
    });
    expect(written.ownerReferences).toEqual([
      theirs,
      expect.objectContaining({ kind: 'CNFDeployment', uid: 'uid-1', controller: true }),
    ]);
  });

  it('is of the CNFDeployment that controls it, and of no other', () => {
    const owner = { apiVersion: 'x/v1', kind: 'CNFDeployment', name: 'cnf-1', uid: 'uid-1' };
    const owned = (by: object) => isControlledBy(deployment({ ownerReferences: [by] }), cnf());
    expect(owned({ ...owner, controller: true })).toBe(true);
    expect(owned(owner)).toBe(false);
    expect(owned({ ...owner, uid: 'uid-2', controller: true })).toBe(false);
    expect(isControlledBy(deployment(), cnf())).toBe(false);
  });
});

describe('the newest set', () => {
  const revision = { 'deployment.kubernetes.io/revision': '2' };

  it('is the one of the revision that the Deployment has', () => {
    const sets = [replicaSet('a', '1'), replicaSet('b', '2')];
    expect(newestSet(deployment({ generation: 2, annotations: revision }), sets)).toBe('b');
  });

  it('is not known before the controller of Deployments has come to the latest template', () => {
    const sets = [replicaSet('a', '1'), replicaSet('b', '2')];
    expect(newestSet(deployment({ generation: 3, annotations: revision }), sets)).toBeUndefined();
    expect(newestSet(deployment({ generation: 2 }), sets)).toBeUndefined();
  });

  it.each(['x', '1.5', '1e30'])('has no number by an annotation that says %s', (text) => {
    expect(revisionNumberOf(replicaSet('a', text))).toBe(0);
  });
});
