/**
 * deploy/1.36 on the real API server, where no coordinator is: new rules have the finalizer, and
 * nothing else is changed.
 */
import { join } from 'node:path';
import { connectCluster, type Cluster } from 'kind-test-harness';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { AGENTS_FINALIZER } from '#shared/names.ts';
import { applyCrds } from '../support/crds.ts';
import { DEPLOY, listOf, render } from '../../stack/installation.ts';
import { eventually } from '../support/eventually.ts';

const LABEL = 'finalizer-policy';
const THEIRS = 'example.org/theirs';
const NAME = 'sdewan-finalizers';

let cluster: Cluster;
let namespace: string;
beforeAll(async () => {
  cluster = await connectCluster();
  await applyCrds(cluster);
  namespace = await cluster.createNamespace('held');
  await cluster.kubectl(['label', 'namespace', namespace, `${LABEL}=true`]);
  const objects = await render(cluster, join(DEPLOY, '1.36'));
  // Other tests have rules whose finalizer no coordinator removes.
  const matchResources = { namespaceSelector: { matchLabels: { [LABEL]: 'true' } } };
  const own = objects.filter(({ metadata }) => metadata.name === NAME);
  const limited = own.map((object) =>
    object.kind === 'MutatingAdmissionPolicyBinding'
      ? { ...object, spec: { policyName: NAME, matchResources } }
      : object,
  );
  await cluster.kubectl(['apply', '-f', '-'], { stdin: listOf(limited) });
});
afterAll(async () => {
  const policies = 'mutatingadmissionpolicybinding,mutatingadmissionpolicy';
  await cluster.kubectl(['delete', policies, NAME]);
  const { stdout } = await cluster.kubectl(['get', 'firewallzones', '-n', namespace, '-o', 'name']);
  const rules = stdout.trim().split('\n');
  const patch = ['--type=merge', '-p', '{"metadata": {"finalizers": null}}'];
  await cluster.kubectl(['patch', '-n', namespace, ...rules, ...patch]);
});

const objectSchema = z.object({
  metadata: z.object({ finalizers: z.array(z.string()).default([]) }),
});
const finalizersOf = (text: string): string[] =>
  objectSchema.parse(JSON.parse(text)).metadata.finalizers;

const specs: Record<string, object> = {
  FirewallZone: { network: ['ovn-net1'] },
  CNFService: { fullname: 'example.org', port: '80', dport: '80' },
  CNFStatus: {},
};

/** Gives the object as the API server answers. `first` is only tried. */
const create = async (kind: string, name: string, finalizers?: string[]): Promise<string> => {
  const metadata = { name, namespace, labels: { sdewanPurpose: 'cnf-1' }, finalizers };
  const object = { apiVersion: 'batch.sdewan.akraino.org/v1alpha1', kind, metadata };
  const tried = name === 'first' ? ['--dry-run=server'] : [];
  const { stdout } = await cluster.kubectl(['create', '-f', '-', '-o', 'json', ...tried], {
    stdin: JSON.stringify({ ...object, spec: specs[kind] }),
  });
  return stdout;
};

it('gives a rule the finalizer from the start, beside those of others, and never twice', async () => {
  // Policies are in force some moments after they were applied.
  await eventually(async () => finalizersOf(await create('FirewallZone', 'first'))).not.toEqual([]);
  expect(finalizersOf(await create('FirewallZone', 'alone'))).toEqual([AGENTS_FINALIZER]);
  expect(finalizersOf(await create('FirewallZone', 'beside', [THEIRS]))).toEqual([
    THEIRS,
    AGENTS_FINALIZER,
  ]);
  expect(finalizersOf(await create('FirewallZone', 'has-it', [AGENTS_FINALIZER, THEIRS]))).toEqual([
    AGENTS_FINALIZER,
    THEIRS,
  ]);
});

it.each(['CNFService', 'CNFStatus'])('%s, which no agent applies, has none', async (kind) => {
  expect(finalizersOf(await create(kind, 'made-here'))).toEqual([]);
});

it('does not add a finalizer again that was removed', async () => {
  await create('FirewallZone', 'let-go');
  const change = (metadata: object) =>
    cluster.kubectl(
      ['patch', 'firewallzone', 'let-go', '-n', namespace, '-o', 'json', '--type=merge'].concat(
        '-p',
        JSON.stringify({ metadata }),
      ),
    );
  await change({ finalizers: null });
  expect(finalizersOf((await change({ annotations: { a: 'b' } })).stdout)).toEqual([]);
});
