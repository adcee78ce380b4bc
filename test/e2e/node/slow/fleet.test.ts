/**
 * A roll-out of a CNFDeployment under steady traffic that kube-proxy sends to its pods; and what it
 * would lose without the gate.
 */
import { describe, expect, it } from 'vitest';
import { rollFleet, rollPlain } from '../../fleet/rolled.ts';
import { nodeCluster } from '../cluster.ts';

const REPLICAS = 2;

describe('a roll-out of a CNFDeployment with 200 rules', async () => {
  const cluster = await nodeCluster();

  it('loses no request, and never fewer pods than replicas are ready', async () => {
    const { requests, lost, servedBy, counted } = await rollFleet(cluster, { replicas: REPLICAS });
    expect(lost).toEqual([]);
    expect(requests).toBeGreaterThan(100);
    expect(servedBy.size).toBe(2 * REPLICAS);
    expect(counted.fewestReady).toBeGreaterThanOrEqual(REPLICAS);
  });

  it('loses requests without the gate', async () => {
    expect(await rollPlain(cluster, REPLICAS)).toBeGreaterThan(0);
  });
});
