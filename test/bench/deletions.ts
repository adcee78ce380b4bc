/**
 * How soon many rules that are deleted at once are gone: `node test/bench/deletions.ts [--rules 2000]`, one CNF with one pod. Times from the first
 * delete to the first and to the last rule that a watch of the API server sees go, how often a status of one rule changed in that time, and from the
 * device's journal its writes and reloads.
 */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import type { KubeObject } from 'kind-test-harness';
import * as z from 'zod';
import { createKubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { firewallRule } from '#shared/resources/rules/firewall-rule.ts';
import { atOnce } from '../stack/at-once.ts';
import { createCnf } from '../stack/cnf.ts';
import { installProduct } from '../stack/install.ts';
import { readJournal } from '../stack/journal.ts';
import { observePods, until } from '../stack/observe.ts';
import { waitInSync } from '../stack/operator.ts';
import { setup as buildPrograms } from '../stack/programs.ts';
import { inNamespace, rejectRule } from '../stack/rules.ts';
import { parseBackend, startStackCluster } from '../stack/start.ts';

const { values } = parseArgs({ options: { rules: { type: 'string', default: '2000' } } });
const RULES = Number(values.rules);
const PURPOSE = 'cnf-1';
const PATIENCE_MS = 600_000;

const ruleSchema = z.object({
  metadata: z.object({ name: z.string(), deletionTimestamp: z.string().optional() }),
  status: z.unknown(),
});

await buildPrograms();
const cluster = await startStackCluster({ backend: parseBackend(), say: console.log });
const client = createKubeClient({
  config: await loadKubeConfig({ kubeconfig: cluster.kubeconfig }),
});
try {
  await installProduct(cluster);
  const namespace = await cluster.createNamespace('deletions');
  await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 1 });
  const rules = Array.from({ length: RULES }, (_, at) => rejectRule(at, '*'));
  await atOnce(rules, (rule) => client.create(firewallRule, inNamespace(rule, namespace)));
  await waitInSync(cluster, namespace, rules, PATIENCE_MS);
  const pod = (await observePods(cluster, namespace, PURPOSE))[0]?.name ?? '';

  /** By rule that is being deleted, its last status and how often that has changed. */
  const statuses = new Map<string, { text: string; changes: number }>();
  const goneAt: number[] = [];
  const path = `/apis/batch.sdewan.akraino.org/v1alpha1/namespaces/${namespace}/firewallrules`;
  await cluster.api.watch<KubeObject>(path, {
    onChange: (object) => {
      const { metadata, status } = ruleSchema.parse(object);
      const text = JSON.stringify(status);
      const before = statuses.get(metadata.name);
      const isChange = before !== undefined && before.text !== text;
      statuses.set(metadata.name, { text, changes: (before?.changes ?? 0) + (isChange ? 1 : 0) });
    },
    onDelete: () => goneAt.push(performance.now()),
  });

  const begunWallMs = Date.now();
  const begun = performance.now();
  await atOnce(rules, ({ metadata: { name } }) => client.delete(firewallRule, { namespace, name }));
  const acceptedMs = performance.now() - begun;
  await until('all rules are gone', PATIENCE_MS, async () =>
    goneAt.length >= RULES ? true : undefined,
  );

  const journal = (await readJournal(cluster, { namespace, pod })).filter(
    ({ ms }) => ms >= begunWallMs,
  );
  const count = (event: string): number => journal.filter((entry) => entry.event === event).length;
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  const changes = Math.max(...[...statuses.values()].map((each) => each.changes));
  console.log(
    `${RULES} deletions, accepted after ${seconds(acceptedMs)}: first rule gone after ${seconds((goneAt[0] ?? NaN) - begun)}, last after ` +
      `${seconds((goneAt.at(-1) ?? NaN) - begun)}; at most ${changes} status changes of a rule; ${count('write')} writes and ${count('reload')} reloads of OpenWRT; ` +
      `load ${loadavg()[0]?.toFixed(1)}`,
  );
} finally {
  await client.close();
  await cluster.stop();
}
