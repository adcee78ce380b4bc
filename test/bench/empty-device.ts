/**
 * How soon Kubernetes shows that an OpenWRT has come back empty: `node test/bench/empty-device.ts
 * [--rules 1000] [--kills 3]`. From the first entry of the device's journal after the kill, in
 * which it has its factory configuration, to the CNFStatus that names the pod and to the status of
 * each rule, as watches of the API server get them. OpenWRT takes its reload slowly, so that no
 * rule is back before all are shown to be gone. Two rates: from that entry on, as users wait for
 * them, and from the first that was shown, which is mostly earlier, since a container that ended is
 * known before OpenWRT is back. All of it shares this machine's cores: API server, etcd,
 * coordinators, the device that starts.
 */
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
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
import { apply, waitInSync } from '../stack/operator.ts';
import { setup as buildPrograms } from '../stack/programs.ts';
import { inNamespace, rejectRule, zone } from '../stack/rules.ts';
import { parseBackend, startStackCluster } from '../stack/start.ts';

const { values } = parseArgs({
  options: {
    rules: { type: 'string', default: '1000' },
    kills: { type: 'string', default: '3' },
  },
});
const RULES = Number(values.rules);
const KILLS = Number(values.kills);
const PURPOSE = 'cnf-1';
const RELOAD_MS = 15_000;

const cnfStatus = z.object({ status: z.object({ message: z.string().optional() }).optional() });
const ruleStatus = z.object({
  metadata: z.object({ name: z.string() }),
  status: z.object({ inSync: z.boolean().optional() }).optional(),
});

await buildPrograms();
const cluster = await startStackCluster({ backend: parseBackend(), say: console.log });
const client = createKubeClient({
  config: await loadKubeConfig({ kubeconfig: cluster.kubeconfig }),
});
try {
  await installProduct(cluster);
  const namespace = await cluster.createNamespace('truth');
  await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 1, reloadMs: RELOAD_MS });
  const lan = zone('lan1', 'ovn-net1');
  const rules = Array.from({ length: RULES }, (_, at) => rejectRule(at, 'lan1'));
  await apply(cluster, namespace, lan);
  await atOnce(rules, (rule) => client.create(firewallRule, inNamespace(rule, namespace)));
  await waitInSync(cluster, namespace, [lan, ...rules]);
  const pod = (await observePods(cluster, namespace, PURPOSE))[0]?.name ?? '';

  const messages: { at: number; message: string }[] = [];
  /** By rule, when it was shown first since the kill that it is not in sync. */
  const lowered = new Map<string, number>();
  const collection = `/apis/batch.sdewan.akraino.org/v1alpha1/namespaces/${namespace}`;
  const onDelete = (): void => undefined;
  await cluster.api.watch<KubeObject>(`${collection}/cnfstatuses`, {
    onChange: (object) => {
      const { message = '' } = cnfStatus.parse(object).status ?? {};
      messages.push({ at: Date.now(), message });
    },
    onDelete,
  });
  await cluster.api.watch<KubeObject>(`${collection}/firewallrules`, {
    onChange: (object) => {
      const { metadata, status } = ruleStatus.parse(object);
      if (status?.inSync === false && !lowered.has(metadata.name))
        lowered.set(metadata.name, Date.now());
    },
    onDelete,
  });

  for (let kill = 1; kill <= KILLS; kill += 1) {
    await sleep(2_000);
    lowered.clear();
    const killedAt = Date.now();
    await cluster.killContainer({ namespace, pod, container: 'sdewan' }, 'SIGKILL');
    // On a machine that is too slow some rules are back before they were shown.
    const lastAt = (): number => Math.max(killedAt + RELOAD_MS, ...lowered.values());
    await until('rules shown as out of sync', async () =>
      lowered.size === RULES || Date.now() - lastAt() > RELOAD_MS ? true : undefined,
    );
    const journal = await readJournal(cluster, { namespace, pod });
    const emptyAt = journal.find(({ ms, by }) => ms >= killedAt && by?.call === 'factory')?.ms;
    const told = messages.find(({ at, message }) => at >= killedAt && message.includes(pod))?.at;
    if (emptyAt === undefined || told === undefined)
      throw new Error('no entry of the journal, or no CNFStatus, of the time after the kill');
    const times = [...lowered.values()].toSorted((one, other) => one - other);
    const [first = NaN, last = NaN] = [times[0], times.at(-1)];
    const since = (from: number): number => Math.round((1_000 * lowered.size) / (last - from));
    console.log(
      `kill ${kill}: CNFStatus ${told - emptyAt} ms after OpenWRT was back empty; statuses of ${lowered.size} of ${RULES} rules from ${first - emptyAt} to ${last - emptyAt} ms, ` +
        `${since(emptyAt)} a second since then, ${since(Math.min(first, told))} since the first; load ${loadavg()[0]?.toFixed(1)}`,
    );
    await waitInSync(cluster, namespace, [lan, ...rules]);
  }
} finally {
  await client.close();
  await cluster.stop();
}
