/**
 * Roll-outs under steady traffic through a Service, on real pods with agents: what is lost, and
 * what it would be without the gate.
 */
import { expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import { withOwnNamespaces } from '../../stack/own-namespaces.ts';
import { PURPOSE } from './cnf.ts';
import { rollFleet, rollPlain } from './rolled.ts';

const cluster = withOwnNamespaces(await connectCluster());

it.each<[number, object, object]>([
  [1, { sdewanPurpose: PURPOSE, 'sdewan.akraino.org/active': 'true' }, {}],
  [3, { sdewanPurpose: PURPOSE }, {}],
  // With the label alone a Service has one pod at a time, which is the last to be replaced.
  [2, { sdewanPurpose: PURPOSE, 'sdewan.akraino.org/active': 'true' }, { surge: 1 }],
])(
  'loses no request in a roll of %i replicas with 200 rules (Service %j, spec %j)',
  async (replicas, selector, spec) => {
    const { requests, lost, counted } = await rollFleet(cluster, { replicas, selector, spec });
    expect(lost).toEqual([]);
    expect(requests).toBeGreaterThan(100);
    expect(counted.fewestReady).toBeGreaterThanOrEqual(replicas);
    expect(counted.most).toBe('surge' in spec ? replicas + 1 : 2 * replicas);
  },
);

it('loses requests in the same roll without the gate', async () => {
  expect(await rollPlain(cluster, 1)).toBeGreaterThan(0);
});
