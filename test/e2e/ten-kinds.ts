/**
 * The ten kinds of the seed as end-to-end tests make, change and delete them, and what the CNFs'
 * own files must hold for each.
 */
import { expect } from 'vitest';
import type { Cluster } from 'kind-test-harness';
import { holdsOnce, timesIn, type CnfConfig } from '../openwrt/checks/seed-rules.ts';
import type { Cnf } from '../stack/cnf.ts';
import { observePods, observeRules, readCnf } from '../stack/observe.ts';
import { apply, remove, waitGone, waitInSync } from '../stack/operator.ts';
import { rule, type Rule } from '../stack/rules.ts';
import { allSamples } from '../samples/all.ts';

const cases = allSamples.flatMap(({ seedLife = [] }) => seedLife);

const rulesOf = ({ purpose }: Cnf, isChanged: boolean): Rule[] =>
  cases.map(({ rule: { kind, metadata, spec }, changed }) =>
    rule(kind, metadata.name, isChanged ? changed : spec, purpose),
  );

const configsOf = async (cluster: Cluster, cnf: Cnf): Promise<CnfConfig[]> => {
  const { namespace, purpose } = cnf;
  const pods = await observePods(cluster, namespace, purpose);
  return Promise.all(pods.map(({ name: pod }) => readCnf(cluster, { namespace, pod })));
};

const expectHeld = async (cluster: Cluster, cnf: Cnf, isChanged: boolean): Promise<void> => {
  await waitInSync(cluster, cnf.namespace, rulesOf(cnf, isChanged));
  const found = await configsOf(cluster, cnf);
  expect(found).toHaveLength(cnf.replicas);
  for (const config of found) {
    const lacking = cases.filter(({ shows }) => !holdsOnce(config, shows(isChanged)));
    expect(lacking.map((each) => each.rule.metadata.name)).toEqual([]);
  }
};

/** Creates them, and sees each once in the files of all replicas. */
export const expectCreated = async (cluster: Cluster, cnf: Cnf): Promise<void> => {
  await apply(cluster, cnf.namespace, ...rulesOf(cnf, false));
  await expectHeld(cluster, cnf, false);
};

/** Changes them, and sees it. */
export const expectChanged = async (cluster: Cluster, cnf: Cnf): Promise<void> => {
  const versions = async () =>
    (await observeRules(cluster, cnf.namespace)).map(({ status }) => status?.appliedVersion);
  await apply(cluster, cnf.namespace, ...rulesOf(cnf, true));
  await expect.poll(versions).toEqual(cases.map(() => '2'));
  await expectHeld(cluster, cnf, true);
};

/** Changed as they are, they are there once. */
export const expectStillHeld = (cluster: Cluster, cnf: Cnf): Promise<void> =>
  expectHeld(cluster, cnf, true);

/** Deletes them, and sees nothing of them in the files. */
export const expectRemoved = async (cluster: Cluster, cnf: Cnf): Promise<void> => {
  const rules = rulesOf(cnf, true);
  // What others refer to goes last.
  await remove(cluster, cnf.namespace, ...rules.toReversed());
  await waitGone(cluster, cnf.namespace, rules);
  for (const config of await configsOf(cluster, cnf)) {
    const left = cases
      .flatMap(({ shows }) => shows(true))
      .filter((each) => timesIn(config, each) > 0);
    expect(left).toEqual([]);
  }
};
