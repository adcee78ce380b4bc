/**
 * What people and controllers do to objects: pods, nodes, namespaces and CRDs that go, many changes
 * at once, one rule without a rest.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { createCnf } from '../../stack/cnf.ts';
import { atOnce } from '../../stack/at-once.ts';
import { installed } from '../../stack/installation.ts';
import { until } from '../../stack/observe.ts';
import { apply, waitGone, waitInSync } from '../../stack/operator.ts';
import { rejectRule, rule } from '../../stack/rules.ts';
import type { Row } from '../row.ts';
import { newRule, resourceOf } from '../traffic.ts';
import type { Fixture } from '../fixture.ts';

const forceDeleted: Row['run'] = async ({ cluster, namespace }) => {
  for (let round = 0; round < 2; round += 1) {
    const all = ['delete', 'pods', '--all', '-n', namespace, '--force', '--grace-period=0'];
    await cluster.kubectl([...all, '--wait=false']);
    await sleep(3_000);
  }
};

const NODE = 'ubuntu18';
/**
 * Kubernetes waits for forty seconds, and looks every twenty, until it takes pods for lost whose
 * node is not there.
 */
const PODS_LOST_MS = 75_000;

/**
 * The only node is taken out, and Kubernetes deletes what ran there, coordinators as well; then it
 * comes back.
 */
const nodeGone: Row['run'] = async ({ cluster }) => {
  const { stdout } = await cluster.kubectl(['get', 'node', NODE, '-o', 'json']);
  const { metadata, status } = nodeSchema.parse(JSON.parse(stdout));
  await cluster.kubectl(['delete', 'node', NODE, '--wait=false']);
  await sleep(PODS_LOST_MS);
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: NODE, labels: metadata.labels },
  };
  await cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(node) });
  const patch = ['patch', 'node', NODE, '--subresource=status', '--type=merge', '-p'];
  await cluster.kubectl([...patch, JSON.stringify({ status })]);
};
const nodeSchema = z.object({
  metadata: z.object({ labels: z.record(z.string(), z.string()) }),
  status: z.looseObject({}),
});

const RULES = 20;

const namespaceDeleted: Row['run'] = async ({ cluster }) => {
  const namespace = await cluster.createNamespace('gone');
  await createCnf(cluster, { namespace, purpose: 'cnf-1', replicas: 2 });
  const rules = Array.from({ length: RULES }, (_, index) => rejectRule(index, '*'));
  await apply(cluster, namespace, ...rules);
  await waitInSync(cluster, namespace, rules);
  await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  await until('the namespace is gone', async () =>
    (await cluster.api.find(`/api/v1/namespaces/${namespace}`)) === undefined ? true : undefined,
  );
};

const CRD = 'mwan3policies.batch.sdewan.akraino.org';

const crdDeleted: Row['run'] = async ({ cluster }) => {
  const manifest = await installed(cluster, 'CustomResourceDefinition', CRD);
  await cluster.kubectl(['delete', 'crd', CRD, '--wait=false']);
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${CRD}`;
  await until('the CRD is gone', async () =>
    (await cluster.api.find(path)) === undefined ? true : undefined,
  );
  await sleep(2_000);
  await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(manifest) });
};

/** Purpose, and so device, of the many. */
const many = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => rejectRule(from + index, '*', 'cnf-1'));

/** `count` are there; as many more come, and then all go at once. */
const manyAtOnce =
  (count: number): Row['run'] =>
  async ({ cluster, client, namespace }) => {
    const first = many(0, count);
    const all = [...first, ...many(count, 2 * count)];
    const kind = { plural: 'firewallrules', kind: 'FirewallRule' };
    const create = (rules: typeof all) =>
      atOnce(rules, ({ metadata: { name }, spec }) => {
        const word = { ...kind, name, package: 'firewall', variants: [] } as const;
        return client.create(
          resourceOf(kind),
          newRule(word, { namespace, purpose: 'cnf-1', spec }),
        );
      });
    await create(first);
    await waitInSync(cluster, namespace, first);
    await create(all.slice(count));
    await atOnce(all, ({ metadata: { name } }) =>
      client.delete(resourceOf(kind), { namespace, name }),
    );
    await waitGone(cluster, namespace, all);
  };

const FLAPS = 200;
const FLAP_EVERY_MS = 50;

const flapping: Row['run'] = async ({ cluster, client, namespace }) => {
  const flap = rule('FirewallRule', 'flapping', { proto: 'tcp', dest_port: '1', target: 'DROP' });
  await apply(cluster, namespace, flap);
  const resource = resourceOf({ plural: 'firewallrules', kind: 'FirewallRule' });
  const key = { namespace, name: 'flapping' };
  for (let index = 0; index < FLAPS; index += 1) {
    const body = { spec: { dest_port: String(1 + (index % 2)) } };
    await Promise.all([
      client.patch(resource, key, { patch: { type: 'merge', body } }),
      sleep(FLAP_EVERY_MS),
    ]);
  }
  await client.delete(resource, key);
};

const coordinatorsRolled: Row['run'] = async ({ cluster }: Fixture) => {
  const deployment = ['-n', 'sdewan-system', 'deployment/sdewan-coordinator'];
  await cluster.kubectl(['rollout', 'restart', ...deployment]);
  await cluster.kubectl(['rollout', 'status', ...deployment, '--timeout=60s'], {
    timeoutMs: 65_000,
  });
};

export const objects: readonly Row[] = [
  {
    id: 'pods-force-deleted',
    fault: 'all CNF pods deleted by force, twice',
    holds: '',
    boundMs: 45_000,
    takesSeconds: 40,
    run: forceDeleted,
  },
  {
    id: 'node-gone',
    fault:
      'the node with all pods is taken out for 75 s: Kubernetes deletes them, coordinators as well',
    holds: '',
    boundMs: 90_000,
    takesSeconds: 150,
    isLong: true,
    run: nodeGone,
  },
  {
    id: 'namespace-deleted',
    fault: 'a namespace with CNF and 20 rules is deleted with everything',
    holds: 'it is gone within 60 s',
    boundMs: 30_000,
    takesSeconds: 40,
    run: namespaceDeleted,
  },
  {
    id: 'crd-deleted',
    fault: 'a CRD is deleted under running agents, and comes again',
    holds: 'it is gone within 60 s: its rules are confirmed first',
    boundMs: 30_000,
    takesSeconds: 40,
    run: crdDeleted,
  },
  {
    id: 'flapping',
    fault: 'one rule changes 20 times a second for 10 s',
    holds: '',
    boundMs: 15_000,
    takesSeconds: 25,
    run: flapping,
  },
  {
    id: 'coordinators-rolled',
    fault: 'a rolling update of the coordinators',
    holds: '',
    boundMs: 45_000,
    takesSeconds: 40,
    run: coordinatorsRolled,
  },
  {
    id: 'many-at-once',
    fault: '200 creates, then 400 deletes at once',
    holds: 'all are gone within 90 s',
    boundMs: 30_000,
    takesSeconds: 60,
    run: manyAtOnce(200),
  },
  {
    id: 'thousands-at-once',
    fault: '1,000 creates, then 2,000 deletes at once',
    holds: 'all are gone within 4 minutes',
    boundMs: 60_000,
    takesSeconds: 240,
    isLong: true,
    run: manyAtOnce(1_000),
  },
];
