import { expect, it } from 'vitest';
import { managedNetworkResource } from '#shared/resources/other-kinds/managed-network.ts';
import { statusOf } from './network-status.ts';
import { networkObject } from './testing.ts';
import { planOf } from './subnets.ts';

it('keeps the status in its bounds, whatever the annotations of pods say', () => {
  const network = networkObject();
  const status = statusOf({
    network,
    plan: planOf(network.spec),
    ports: [],
    foreign: new Map(),
    conflicts: Array.from({ length: 20 }, (_, at) => `pod ${at}: ${'x'.repeat(2_000)}`),
    now: 0,
  });
  expect(managedNetworkResource.status.safeParse(status).error).toBeUndefined();
  expect(status.conflicts?.at(-1)).toBe('and 12 more');
});
