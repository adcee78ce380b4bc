/**
 * From the version of test/versions/baseline to today's and back, as an operator goes: first the coordinators, then the CNFs. Each mix of
 * agents and coordinators serves all kinds of rules: what was in sync stays so, and no deletion is delayed.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCnf, type Cnf } from '../stack/cnf.ts';
import { apply, remove, waitForPods, waitGone, waitInSync } from '../stack/operator.ts';
import { rejectRule, zone } from '../stack/rules.ts';
import { statusesOf, witness } from '../stack/witness.ts';
import { expectChanged, expectCreated, expectRemoved, expectStillHeld } from '../e2e/ten-kinds.ts';
import { startTwoVersions, type TwoVersions, type Version } from './cluster.ts';
import { frozenBuild } from './frozen.ts';

const PURPOSE = 'cnf-1';
/** All that is of another purpose here stays in sync, whichever version is where. */
const STANDING = 'standing';

describe('a cluster that goes to another version and back', () => {
  let versions: TwoVersions;
  let cnf: Cnf;
  let standing: Cnf;
  const rules = [
    zone('lan1', 'ovn-net1', STANDING),
    ...Array.from({ length: 20 }, (_, index) => rejectRule(index, 'lan1', STANDING)),
  ];

  beforeAll(async () => {
    versions = await startTwoVersions(await frozenBuild());
    await versions.install('baseline');
    const { cluster } = versions;
    const namespace = await cluster.createNamespace('versions');
    cnf = { namespace, purpose: PURPOSE, replicas: 2 };
    standing = {
      namespace: await cluster.createNamespace('standing'),
      purpose: STANDING,
      replicas: 2,
    };
    await createCnf(cluster, cnf);
    await createCnf(cluster, standing);
    await apply(cluster, standing.namespace, ...rules);
    await waitInSync(cluster, standing.namespace, rules);
    await expectCreated(cluster, cnf);
  }, 300_000);
  afterAll(() => versions.stop());

  /** The version of the agents that their pods name. */
  const agentsOf = async (): Promise<Set<string>> => {
    const images = `jsonpath={.items[*].spec.initContainers[?(@.name=="sdewan-agent")].image}`;
    const pods = ['get', 'pods', '-n', cnf.namespace, '-l', `sdewanPurpose=${PURPOSE}`];
    const { stdout } = await versions.cluster.kubectl([...pods, '-o', images]);
    return new Set(stdout.split(' ').filter((image) => image !== ''));
  };

  const rollCnf = async (): Promise<void> => {
    const { cluster } = versions;
    const { namespace, purpose, replicas } = cnf;
    const target = ['-n', namespace, `deployment/${purpose}`];
    await cluster.kubectl(['rollout', 'restart', ...target]);
    await cluster.kubectl(['rollout', 'status', ...target, '--timeout=90s'], {
      timeoutMs: 100_000,
    });
    await waitForPods(cluster, namespace, purpose, replicas);
  };

  /** While the coordinators are exchanged, no status of a rule changes where nobody changes the CNF. */
  const installQuietly = async (version: Version): Promise<void> => {
    const { cluster } = versions;
    const watch = await witness(cluster, standing.namespace);
    const before = watch.sightings.length;
    await versions.install(version);
    const said = statusesOf(watch).slice(before);
    expect(said.filter(({ what, is }) => what === 'rule' && is !== true)).toEqual([]);
    await waitInSync(cluster, standing.namespace, rules);
  };

  const IMAGE: Readonly<Record<Version, string>> = {
    baseline: 'sdewan-agent:baseline',
    today: 'sdewan-agent:dev',
  };

  it('has coordinators of today beside agents of the baseline', async () => {
    await installQuietly('today');
    await expectStillHeldAndServed('baseline');
  });
  it('has agents of today as well', async () => {
    await rollCnf();
    await expectStillHeldAndServed('today');
  });
  it('goes back: coordinators of the baseline beside agents of today', async () => {
    await installQuietly('baseline');
    await expectStillHeldAndServed('today');
  });
  it('has agents of the baseline again', async () => {
    await rollCnf();
    await expectStillHeldAndServed('baseline');
  });
  it('deletes the rules that have seen all versions', async () => {
    const { cluster } = versions;
    await expectRemoved(cluster, cnf);
    await remove(cluster, standing.namespace, ...rules.toReversed());
    await waitGone(cluster, standing.namespace, rules);
  });

  let times = 0;
  /** All ten kinds are as they were; then they are changed, or deleted and made again, in turn; and one more comes and goes. */
  const expectStillHeldAndServed = async (agents: Version): Promise<void> => {
    const { cluster } = versions;
    expect(await agentsOf()).toEqual(new Set([IMAGE[agents]]));
    times += 1;
    if (times % 2 === 1) {
      await expectChanged(cluster, cnf);
      return;
    }
    await expectStillHeld(cluster, cnf);
    await expectRemoved(cluster, cnf);
    await expectCreated(cluster, cnf);
  };
});
