/**
 * What is wrong with a CNFDeployment: refused when it is written, with what, where and what would
 * be right; or told in its status, and harmful to nothing else.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import { withOwnNamespaces } from '../../stack/own-namespaces.ts';
import { until } from '../../stack/observe.ts';
import { apply } from '../../stack/operator.ts';
import {
  applyFleet,
  eventsOf,
  policyOn,
  PURPOSE,
  serves,
  waitForFleet,
  type FleetCnf,
} from './cnf.ts';

const cluster = withOwnNamespaces(await connectCluster());

let namespace: string;
let cnf: FleetCnf;
beforeAll(async () => {
  namespace = await cluster.createNamespace('bad-input');
  cnf = { namespace, replicas: 1, version: '1', lateMs: 0, rules: 0 };
  await apply(cluster, namespace, policyOn('late', 'ovn-net3'));
  await applyFleet(cluster, cnf);
  await waitForFleet(cluster, namespace, 'the first set', serves(1));
});

const labels = { sdewanPurpose: 'cnf-2' };
const containers = [{ name: 'openwrt', image: 'openwrt:1' }];
const template = { metadata: { labels }, spec: { containers } };
const spec = { selector: { matchLabels: labels }, template };

/** What kubectl says, for people. */
const refusal = async (...args: string[]): Promise<string> => {
  const { code, stderr } = await cluster.kubectl([...args, '-n', namespace], {
    allowFailure: true,
  });
  return code === 0 ? 'accepted' : stderr;
};
const refusalOf = async (changes: object): Promise<string> => {
  const object = {
    apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
    kind: 'CNFDeployment',
    metadata: { name: 'cnf-2' },
    spec: { ...spec, ...changes },
  };
  const { code, stderr } = await cluster.kubectl(
    ['create', '--dry-run=server', '-n', namespace, '-f', '-'],
    { stdin: JSON.stringify(object), allowFailure: true },
  );
  return code === 0 ? 'accepted' : stderr;
};
const asPurpose = (purpose: string): object => ({
  selector: { matchLabels: { sdewanPurpose: purpose } },
  template: { ...template, metadata: { labels: { sdewanPurpose: purpose } } },
});

describe('refused when it is written', () => {
  it('happens not without such a fault', async () => {
    expect(await refusalOf({})).toBe('accepted');
  });

  it.each<[string, object, string]>([
    ['Deployment', { apiVersion: 'apps/v1', kind: 'Deployment' }, 'ConfigMap owner'],
    ['StatefulSet', { apiVersion: 'apps/v1', kind: 'StatefulSet' }, 'StatefulSet theirs'],
  ])(
    "happens for adoption of a %s that is another owner's or has no second set",
    async (_, kind, server) => {
      const owner = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'owner' } };
      await apply(cluster, namespace, owner);
      const uid = ['get', 'configmap', 'owner', '-n', namespace, '-o', 'jsonpath={.metadata.uid}'];
      const controller = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', controller: true };
      const ownerReferences = [{ ...controller, uid: (await cluster.kubectl(uid)).stdout }];
      const isDeployment = server.startsWith('ConfigMap');
      const theirs = { sdewanPurpose: 'theirs' };
      await apply(cluster, namespace, {
        ...kind,
        metadata: { name: 'theirs', labels: theirs, ...(isDeployment && { ownerReferences }) },
        spec: {
          replicas: 0,
          selector: { matchLabels: theirs },
          template: { metadata: { labels: theirs }, spec: { containers } },
        },
      });
      const said = await refusalOf(asPurpose('theirs'));
      await cluster.kubectl(['delete', String(Object(kind).kind), 'theirs', '-n', namespace]);
      expect(said).toContain(`${server} already serves purpose theirs`);
    },
  );

  it('happens for a distance out of 0 to 8', async () => {
    const status = {
      distances: [{ pod: 'p', distance: 9, confirmed: true, since: '2026-01-01T00:00:00Z' }],
    };
    const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify({ status })];
    const said = await refusal('patch', 'cnfdeploy', PURPOSE, ...patch);
    expect(said).toContain('status.distances[0].distance');
    expect(said).toContain('less than or equal to 8');
  });
});

describe('told in Progressing, in the words of Kubernetes', () => {
  const policy = 'sdewan-test-denies';
  const deny = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: policy },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] },
        ],
      },
      validations: [
        {
          expression: "object.metadata.?annotations[?'version'].orValue('') != 'denied'",
          message: 'the policy of this test denies it',
        },
      ],
    },
  };
  const binding = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: policy },
    spec: { policyName: policy, validationActions: ['Deny'] },
  };
  const quota = {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'pods' },
    spec: { hard: { pods: '1' } },
  };

  it.each<[string, object[], Partial<FleetCnf>, RegExp]>([
    [
      'an image that cannot be pulled',
      [],
      { version: 'image', image: 'nobody:has-it' },
      /ImagePull/,
    ],
    ['a quota', [quota], { version: 'quota' }, /exceeded quota/],
    [
      'what denies its pods',
      [deny, binding],
      { version: 'denied' },
      // Kubernetes keeps what it met first, and on a busy machine that can be a webhook that is
      // late.
      /the policy of this test denies it|failed calling webhook/,
    ],
  ])('%s; the set of before serves on', async (_, objects, changes, words) => {
    const { currentRevision } = await waitForFleet(
      cluster,
      namespace,
      'it has a set',
      (seen) => seen.currentRevision !== undefined,
    );
    if (objects.length > 0) await apply(cluster, namespace, ...objects);
    await applyFleet(cluster, { ...cnf, ...changes, spec: { progressDeadline: '10s' } });
    await waitForFleet(cluster, namespace, 'Progressing says so', ({ conditions = [] }) =>
      conditions.some(({ type, message }) => type === 'Progressing' && words.test(message)),
    );
    const failed = await waitForFleet(
      cluster,
      namespace,
      'it is given up at the deadline',
      ({ stage }) => stage === 'Failed',
    );
    expect([failed.currentRevision, failed.readyReplicas]).toEqual([currentRevision, 1]);
    await until('an Event says so', async () =>
      words.test(await eventsOf(cluster, namespace, 'RollOutFailed')) ? true : undefined,
    );
    for (const { kind, metadata } of objects as { kind: string; metadata: { name: string } }[])
      await cluster.kubectl(['delete', kind, metadata.name, '-n', namespace]);
  });
});
