import { expect, it } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import type { ManagedNetworkSpec } from '#shared/resources/other-kinds/managed-network.ts';
import { networkObject } from '../controllers/network-ports/testing.ts';
import { managedNetworksOr } from './managed-networks.ts';
import { allowed, type AdmissionRequest } from './review.ts';

const client = {
  list: async () => ({ items: [networkObject()], resourceVersion: '1' }),
} as unknown as KubeClient;
const webhook = managedNetworksOr(client, async () => ({ ...allowed, warnings: ['of others'] }));
const review = (spec: Partial<ManagedNetworkSpec>, some: object = {}) =>
  webhook(
    {
      operation: 'CREATE',
      resource: {
        group: 'network.sdewan.akraino.org',
        version: 'v1alpha1',
        resource: 'managednetworks',
      },
      object: networkObject(spec, 'new'),
      ...some,
    } as unknown as AdmissionRequest,
    new AbortController().signal,
  );
const subnets = (cidr: string, range: string) => [{ cidr, ranges: [range] }];

it.each<[string, Partial<ManagedNetworkSpec>, string]>([
  [
    'a range outside its subnet',
    { subnets: subnets('10.9.0.0/24', '10.8.0.1') },
    '10.8.0.1 must be addresses of 10.9.0.0/24',
  ],
  [
    'a name of another',
    { subnets: subnets('10.9.0.0/24', '10.9.0.1') },
    'net-a is a name of ManagedNetwork edge-net',
  ],
  [
    'addresses of another',
    { names: ['b'], subnets: subnets('10.1.0.0/16', '10.1.0.1') },
    '10.1.0.0/16 overlaps 10.1.0.0/24 of ManagedNetwork edge-net',
  ],
])('refuses a network with %s, with both values', async (_, spec, message) => {
  expect(await review(spec)).toMatchObject({
    allowed: false,
    message: expect.stringContaining(message),
  });
});

it('takes one that is right, a change of something else of one that is not, and leaves others to others', async () => {
  const right = { names: ['b'], subnets: subnets('10.9.0.0/24', '10.9.0.1') };
  expect(await review(right)).toEqual(allowed);
  const wrong = networkObject({ subnets: subnets('10.9.0.0/24', '10.8.0.1') }, 'new');
  expect(await review({}, { operation: 'UPDATE', object: wrong, oldObject: wrong })).toEqual(
    allowed,
  );
  const others = { group: 'batch.sdewan.akraino.org', version: 'v1alpha1', resource: 'cnfnats' };
  expect(await review({}, { resource: others })).toMatchObject({ warnings: ['of others'] });
});
