/** Killed in the middle of work, again and again: everything converges, and no finalizer is removed early. */
import { beforeAll, describe, expect, it } from 'vitest';
import { createCnf } from '../../stack/cnf.ts';
import { coordinatorReady } from '../../stack/faults.ts';
import { readJournal } from '../../stack/journal.ts';
import { goneSince } from '../../judge/in-force.ts';
import { observePods, readCnf } from '../../stack/observe.ts';
import { apply, remove, waitGone, waitInSync } from '../../stack/operator.ts';
import { idOf, rejectRule, zone, type Rule } from '../../stack/rules.ts';
import { witness } from '../../stack/witness.ts';
import { e2eCluster } from '../cluster.ts';

const PURPOSE = 'cnf-1';
const COUNT = 100;
/** A confirmation before the reload of the firewall shows as early by this much. */
const RELOAD_MS = 1_000;

describe('killed -9 in the middle of 100 creates and deletes', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  const lan = zone('lan1', 'ovn-net1');
  const rules = Array.from({ length: COUNT }, (_, index) => rejectRule(index, 'lan1'));
  const half = COUNT / 2;

  beforeAll(async () => {
    namespace = await cluster.createNamespace('crash');
    const cnf = { namespace, purpose: PURPOSE, replicas: 2, reloadMs: RELOAD_MS };
    await createCnf(cluster, cnf);
    await apply(cluster, namespace, lan, ...rules.slice(0, half));
    await waitInSync(cluster, namespace, [lan, ...rules.slice(0, half)]);
  });

  const killCoordinators = async (): Promise<void> => {
    const { stdout } = await cluster.kubectl([
      'get',
      'pods',
      '-n',
      'sdewan-system',
      '-l',
      'app=sdewan-coordinator',
      '-o',
      'jsonpath={.items[*].metadata.name}',
    ]);
    for (const pod of stdout.split(' '))
      await cluster.killContainer(
        { namespace: 'sdewan-system', pod, container: 'coordinator' },
        'SIGKILL',
      );
  };

  const killAgents = async (): Promise<void> => {
    for (const { name } of await observePods(cluster, namespace, PURPOSE)) {
      await cluster.killContainer({ namespace, pod: name, container: 'sdewan-agent' }, 'SIGKILL');
    }
  };

  const expectExactly = async (expected: readonly Rule[]): Promise<void> => {
    const addresses = new Set(expected.map(({ spec }) => spec['src_ip']));
    for (const { name } of await observePods(cluster, namespace, PURPOSE)) {
      const config = await readCnf(cluster, { namespace, pod: name });
      const found = (config.get('firewall') ?? [])
        .filter(({ options }) => String(options['src_ip']).startsWith('10.1.'))
        .map(({ options }) => options['src_ip']);
      expect(found).toHaveLength(addresses.size);
      expect(new Set(found)).toEqual(addresses);
    }
  };

  const expectNoneEarly = async (gone: readonly Rule[]): Promise<void> => {
    const { goneAt } = await witness(cluster, namespace);
    for (const { name } of await observePods(cluster, namespace, PURPOSE)) {
      const journal = await readJournal(cluster, { namespace, pod: name });
      for (const each of gone) {
        const isIts = ({ src_ip: ip }: Rule['spec']) => ip === each.spec['src_ip'];
        expect(goneSince(journal, 'firewall', isIts)).toBeLessThanOrEqual(goneAt(idOf(each)));
      }
    }
  };

  it.each([
    ['both coordinators', killCoordinators, rules.slice(0, half), rules.slice(half)],
    ['the agents', killAgents, rules.slice(half), rules.slice(0, half)],
  ])('%s', async (_who, kill, deleted, created) => {
    await Promise.all([
      remove(cluster, namespace, ...deleted),
      apply(cluster, namespace, ...created),
      kill(),
    ]);
    await kill();
    await waitGone(cluster, namespace, deleted, 120_000);
    await coordinatorReady(cluster);
    await waitInSync(cluster, namespace, [lan, ...created], 120_000);
    await expectExactly(created);
    await expectNoneEarly(deleted);
  });
});
