/**
 * All ten kinds of the seed on two replicas with a login of the operator's making, which has only the rights of the staged way as
 * docs/drivers.md prints them: created, changed, deleted. The truth is in the CNFs' files.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { createCnf, type Cnf } from '../stack/cnf.ts';
import { observePods } from '../stack/observe.ts';
import { e2eCluster } from './cluster.ts';
import { expectChanged, expectCreated, expectRemoved } from './ten-kinds.ts';

describe("the seed's ten kinds on the staged way, on two replicas", async () => {
  const cluster = await e2eCluster();
  let cnf: Cnf;

  beforeAll(async () => {
    const namespace = await cluster.createNamespace('staged');
    cnf = { namespace, purpose: 'cnf-staged', replicas: 2, driver: 'ubus', login: 'staged' };
    await createCnf(cluster, cnf);
  });

  it('are created', () => expectCreated(cluster, cnf));
  it('are changed', () => expectChanged(cluster, cnf));
  it('are deleted', () => expectRemoved(cluster, cnf));

  it('used no other way', async () => {
    const { namespace, purpose } = cnf;
    const pods = await observePods(cluster, namespace, purpose);
    expect(pods).toHaveLength(2);
    for (const { name } of pods) {
      const { stdout } = await cluster.kubectl([
        'logs',
        '-n',
        namespace,
        name,
        '-c',
        'sdewan-agent',
      ]);
      expect(stdout).toContain('"path":"staged"');
      expect(stdout).not.toContain('"path":"fast"');
    }
  });
});
