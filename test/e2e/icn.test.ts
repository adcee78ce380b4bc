/**
 * All ten kinds of the seed on two replicas whose OpenWRT speaks nothing but ICN's REST: created,
 * changed, moved to ubus and back by rolling updates, deleted. Judged by the CNFs' files.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { createCnf, updateCnf, type Cnf } from '../stack/cnf.ts';
import { e2eCluster } from './cluster.ts';
import { applySamples } from './icn-samples.ts';
import { expectChanged, expectCreated, expectRemoved, expectStillHeld } from './ten-kinds.ts';

describe("the seed's ten kinds over ICN's REST, on two replicas", async () => {
  const cluster = await e2eCluster();
  let cnf: Cnf;

  beforeAll(async () => {
    const namespace = await cluster.createNamespace('icn');
    cnf = { namespace, purpose: 'cnf-icn', replicas: 2, driver: 'icn' };
    await createCnf(cluster, cnf);
  });

  it('are created', () => expectCreated(cluster, cnf));
  it('are changed', () => expectChanged(cluster, cnf));

  it('leave a CNFStatus with information from both pods', async () => {
    const { namespace, purpose } = cnf;
    const devices = '{range .status.information[*]}{.interfaces[?(@.up)].device} {end}';
    const kubectl = ['-n', namespace, 'get', 'cnfstatus', purpose, `-o=jsonpath=${devices}`];
    const told = async () => (await cluster.kubectl(kubectl)).stdout.trim().split(/ +/);
    const times = async () => (await told()).filter((device) => device === 'net1').length;
    await expect.poll(times, { interval: 500 }).toBe(2);
  });

  it.each(['ubus', 'icn'] as const)(
    'are moved to %s by a rolling update, none lost or doubled',
    async (driver) => {
      await updateCnf(cluster, { ...cnf, driver });
      await expectStillHeld(cluster, cnf);
    },
  );

  it('are deleted', () => expectRemoved(cluster, cnf));

  it("are in sync with ICN's samples of all kinds, too", async () => {
    expect(await applySamples(cluster, cnf)).toHaveLength(19);
  });
});
