/** OpenWRT's container is killed and comes back empty, again and again: no status is wrong, and CNFStatus shows the problem at once. */
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { falseStatuses, type InSyncStatus } from '../../judge/in-sync.ts';
import type { JournalEntry } from '../../judge/in-force.ts';
import { createCnf } from '../../stack/cnf.ts';
import { readJournal } from '../../stack/journal.ts';
import { observePods, until } from '../../stack/observe.ts';
import { apply, waitInSync } from '../../stack/operator.ts';
import { idOf, rejectRule, zone } from '../../stack/rules.ts';
import { witness } from '../../stack/witness.ts';
import { e2eCluster } from '../cluster.ts';

const PURPOSE = 'cnf-1';
const RULES = 60;
const KILLS = 6;
/** Five seconds of silence, and the way of a report and of a status; a second from other content is within it. */
const GRACE = { staysMs: 7_000, newlyMs: 0 };

const said = z.object({ status: z.object({ inSync: z.boolean() }) });
const cnfStatus = z.object({ status: z.object({ message: z.string().optional() }).optional() });

describe(`OpenWRT killed ${KILLS} times`, async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let pod = '';
  const lan = zone('lan1', 'ovn-net1');
  const rules = Array.from({ length: RULES }, (_, index) => rejectRule(index, 'lan1'));
  const addressOf = new Map(rules.map((rule) => [idOf(rule), rule.spec['src_ip']]));
  const messages: { at: number; message: string }[] = [];

  beforeAll(async () => {
    namespace = await cluster.createNamespace('empty');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 1, reloadMs: 300 });
    await apply(cluster, namespace, lan, ...rules);
    await waitInSync(cluster, namespace, [lan, ...rules]);
    pod = (await observePods(cluster, namespace, PURPOSE))[0]?.name ?? '';
    await cluster.api.watch(
      `/apis/batch.sdewan.akraino.org/v1alpha1/namespaces/${namespace}/cnfstatuses`,
      {
        onChange: (object) => {
          const { message = '' } = cnfStatus.parse(object).status ?? {};
          messages.push({ at: Date.now(), message });
        },
        onDelete: () => undefined,
      },
    );
  });

  const judge = async (journal: readonly JournalEntry[], from: number): Promise<void> => {
    const { sightings } = await witness(cluster, namespace);
    const seen = sightings.flatMap(({ at, id, object }): InSyncStatus[] => {
      const inSync = said.safeParse(object).data?.status.inSync;
      return addressOf.has(id) && inSync !== undefined ? [{ at, rule: id, inSync }] : [];
    });
    const wrong = falseStatuses(seen, [journal], {
      holds: (rule, of) =>
        of('firewall').taken.some(({ options }) => options['src_ip'] === addressOf.get(rule)),
      grace: GRACE,
    });
    expect(wrong.filter(({ at }) => at >= from)).toEqual([]);
  };

  it.each(Array.from({ length: KILLS }, (_, kill) => kill + 1))('kill %d', async () => {
    const { next } = await witness(cluster, namespace);
    const killedAt = Date.now();
    await cluster.killContainer({ namespace, pod, container: 'sdewan' }, 'SIGKILL');
    const journal = await until('the rules in force again', 60_000, async () => {
      await next(1_000);
      const entries = await readJournal(cluster, { namespace, pod }).catch(() => []);
      const restarted = entries.filter(({ ms }) => ms >= killedAt);
      const text = restarted.findLast(({ package: name }) => name === 'firewall')?.text ?? '';
      return restarted.length > 0 && text.includes(String(rules.at(-1)?.spec['src_ip']))
        ? entries
        : undefined;
    });
    await waitInSync(cluster, namespace, [lan, ...rules]);
    const whole = await readJournal(cluster, { namespace, pod });
    await judge(whole, killedAt);
    const emptyAt =
      journal.find(({ ms, by }) => ms >= killedAt && by?.call === 'factory')?.ms ?? NaN;
    const told = messages.find(({ at, message }) => at >= killedAt && message.includes(pod));
    expect((told?.at ?? Infinity) - emptyAt).toBeLessThanOrEqual(1_000);
  });

  it('is one Event on the pod for each package, and none on any rule', async () => {
    const { stdout } = await cluster.kubectl([
      'get',
      'events',
      `--namespace=${namespace}`,
      '--field-selector=reason=DriftRepaired',
      '--no-headers',
      '--output=custom-columns=:.involvedObject.name,:.message',
    ]);
    const told = stdout.trim().split('\n');
    expect(told).toEqual([
      expect.stringContaining("without the agent's sections of package firewall"),
    ]);
    expect(told[0]?.startsWith(pod)).toBe(true);
  });
});
