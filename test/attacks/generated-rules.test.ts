/**
 * The thief of the coordinator's token goes around the fence between what the coordinator makes and what people write: by the coordinator's label in the
 * very change that needs it, in each way to write, by the finalizers of others, and by an owner that does not exist, for which the garbage collector deletes.
 */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { KubeClient, Patch } from '#shared/kube/client.ts';
import { createKubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { isConflict } from '#shared/kube/errors.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { firewallDnat } from '#shared/resources/rules/firewall-dnat.ts';
import { createWorld, type World } from '../integration/admission/world.ts';

const MARK = { 'app.kubernetes.io/managed-by': 'sdewan-coordinator' };
const SPEC = { src: 'wan', proto: 'tcp', src_dport: '80', dest_ip: '10.0.0.1' };
const THEIRS = { ...SPEC, dest_ip: '10.66.66.66' };
/** By a policy, or by RBAC: it may not replace whole objects at all. */
const REFUSED = /the coordinator may|cannot update resource/;
const OF_A_PERSON = 'example.org/of-a-person';
const NOBODY = {
  apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
  kind: 'CNFService',
  name: 'nobody',
  uid: '00000000-0000-4000-8000-000000000000',
};

let world: World;
let namespace: string;
let thief: KubeClient;
let rule: RuleObject;
beforeAll(async () => {
  world = await createWorld();
  namespace = await world.createNamespace();
  const kubeconfig = await world.kubeconfigOf(world.systemNamespace, 'sdewan-coordinator');
  thief = createKubeClient({ config: await loadKubeConfig({ kubeconfig }) });
});
afterAll(async () => {
  await thief.close();
  await world.close();
});

let made = 0;
beforeEach(async () => {
  rule = await world.client.create(firewallDnat, {
    apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
    kind: 'FirewallDNAT',
    metadata: {
      name: `of-a-person-${(made += 1)}`,
      namespace,
      labels: { sdewanPurpose: 'cnf-1' },
      annotations: { 'sdewan.akraino.org/references': 'off' },
      finalizers: [OF_A_PERSON],
    },
    spec: SPEC,
  });
  const patch: Patch = { type: 'merge', body: { metadata: { finalizers: null } } };
  return async () => {
    const { name } = rule.metadata;
    await world.client.patch(firewallDnat, { namespace, name }, { patch });
  };
});

const withLabel = { ...MARK, sdewanPurpose: 'cnf-1' };
const ways: Record<string, () => Promise<unknown>> = {
  'its label and another spec in one merge patch': () =>
    patched({ type: 'merge', body: { metadata: { labels: MARK }, spec: THEIRS } }),
  'its label and another spec in one JSON patch': () =>
    patched({
      type: 'json',
      body: [
        { op: 'add', path: '/metadata/labels', value: withLabel },
        { op: 'replace', path: '/spec', value: THEIRS },
      ],
    }),
  'its label and another spec in one server-side apply': () =>
    patched({
      type: 'apply',
      body: {
        apiVersion: rule.apiVersion,
        kind: rule.kind,
        metadata: { name: rule.metadata.name, namespace, labels: withLabel },
        spec: THEIRS,
      },
    }),
  'its label and another spec in the place of the whole object': () => replaced(),
  'its label first': () => patched({ type: 'merge', body: { metadata: { labels: MARK } } }),
  'an owner that does not exist': () =>
    patched({ type: 'merge', body: { metadata: { ownerReferences: [NOBODY] } } }),
  'an owner that does not exist, with its label': () =>
    patched({ type: 'merge', body: { metadata: { labels: MARK, ownerReferences: [NOBODY] } } }),
  'another bucket': () =>
    patched({ type: 'merge', body: { metadata: { labels: { 'sdewan-bucket-type': 'basic' } } } }),
  "none of its author's finalizers": () =>
    patched({ type: 'merge', body: { metadata: { finalizers: null } } }),
  'another finalizer, which nobody removes': () =>
    patched({
      type: 'merge',
      body: { metadata: { finalizers: [OF_A_PERSON, 'example.org/for-ever'] } },
    }),
  'the end of its life': () => thief.delete(firewallDnat, { namespace, name: rule.metadata.name }),
};

/** The coordinator itself may write to it meanwhile. */
const replaced = async (): Promise<unknown> => {
  const present = await world.client.get(firewallDnat, { namespace, name: rule.metadata.name });
  const stolen: RuleObject = {
    ...present,
    metadata: { ...present.metadata, labels: withLabel },
    spec: THEIRS,
  };
  return thief.replace(firewallDnat, stolen).catch((error: unknown) => {
    if (isConflict(error)) return replaced();
    throw error;
  });
};
const patched = (patch: Patch): Promise<unknown> =>
  thief.patch(firewallDnat, { namespace, name: rule.metadata.name }, { patch });

it.each(Object.entries(ways))('a rule that a person wrote does not get %s', async (_, attempt) => {
  const before = await world.client.get(firewallDnat, { namespace, name: rule.metadata.name });
  await expect(attempt()).rejects.toThrow(REFUSED);
  const after = await world.client.get(firewallDnat, { namespace, name: rule.metadata.name });
  const { labels, ownerReferences, finalizers = [], deletionTimestamp } = after.metadata;
  expect({ spec: after.spec, labels, ownerReferences, deletionTimestamp }).toEqual({
    spec: before.spec,
    labels: before.metadata.labels,
    ownerReferences: undefined,
    deletionTimestamp: undefined,
  });
  expect(finalizers.filter((name) => name.startsWith('example.org/'))).toEqual([OF_A_PERSON]);
});

it("a rule with its label is the coordinator's, and stays so", async () => {
  const name = 'generated';
  const { resourceVersion: _version, uid: _uid, ...metadata } = rule.metadata;
  await thief.create(firewallDnat, {
    ...rule,
    metadata: { ...metadata, name, finalizers: [], labels: withLabel },
  });
  const at = { namespace, name };
  const unmark: Patch = {
    type: 'merge',
    body: { metadata: { labels: { 'app.kubernetes.io/managed-by': null } }, spec: THEIRS },
  };
  await expect(thief.patch(firewallDnat, at, { patch: unmark })).rejects.toThrow(
    'the coordinator may not take its label from a rule',
  );
  await thief.patch(firewallDnat, at, { patch: { type: 'merge', body: { spec: THEIRS } } });
  await thief.delete(firewallDnat, at);
});
