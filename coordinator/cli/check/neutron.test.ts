import { expect, it } from 'vitest';
import type { ClusterEvent } from '../cluster/events.ts';
import { neutronItem, usesNeutron } from './neutron.ts';

const event = (name: string, reason: string, minute: number): ClusterEvent => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: 'e', namespace: 'shop', uid: 'e', resourceVersion: '1', creationTimestamp: '' },
  type: 'Warning',
  reason,
  message: `Neutron: ${reason}`,
  lastTimestamp: `2026-01-01T00:0${minute}:00Z`,
  involvedObject: { kind: 'NetworkPolicy', namespace: 'shop', name, uid: name },
});

it('names the policies whose last Event says that Neutron does not follow them, and why', () => {
  const events = [
    event('web', 'Enforced', 1),
    event('web', 'NeutronUnavailable', 2),
    event('back', 'Enforced', 3),
    event('back', 'NeutronUnavailable', 2),
    event('db', 'NeutronUnavailable', 1),
    { ...event('db', 'Enforced', 4), message: 'enforced at a CNF' },
  ];
  expect(neutronItem(events)).toMatchObject({
    state: 'Bad',
    what: 'Neutron and NetworkPolicies: shop/db, shop/web',
    cause: 'Neutron: NeutronUnavailable',
  });
  expect(neutronItem(events.slice(2, 4))).toMatchObject({ state: 'Good' });
  expect(neutronItem([])).toMatchObject({ state: 'Good' });
});

it('is asked where a coordinator has a cloud', () => {
  expect(usesNeutron([{ name: 'SDEWAN_HTTP_PORT' }])).toBe(false);
  expect(usesNeutron([{ name: 'SDEWAN_OPENSTACK_CLOUD_FILE' }])).toBe(true);
});
