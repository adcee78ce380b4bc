import { expect, it } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import { factsOf } from '../cluster/testing.ts';
import { hiddenItems } from './hidden.ts';

const labels = { sdewanPurpose: 'cnf-1' };
const zone = (name: string, network: string) =>
  ruleOf('FirewallZone', name, { network: [network] }, { labels });
const rule = (name: string, spec: object, more: object = {}) =>
  ruleOf(
    'FirewallRule',
    name,
    { src: 'lan1', dest: 'wan1', target: 'DROP', ...spec },
    { labels, ...more },
  );
const zones = [zone('lan1', 'net1'), zone('wan1', 'net2')];
const all = rule('all', { proto: 'all' });
const web = rule(
  'web',
  { proto: 'tcp', dest_port: '80' },
  { creationTimestamp: '2027-01-01T00:00:00Z' },
);

it('names a rule to which no packet comes, with what decides before it', () => {
  expect(hiddenItems(factsOf({ rules: [...zones, all, web] }))).toEqual([
    {
      state: 'Bad',
      what: 'FirewallRule default/web',
      cause: 'no packet comes to it: FirewallRule/all decides before it for all that it matches',
      cure: expect.stringContaining('sdewan.akraino.org/order'),
    },
  ]);
});

it('rules of different CNFs hide each other never', () => {
  const other = { ...web, metadata: { ...web.metadata, labels: { sdewanPurpose: 'cnf-2' } } };
  const elsewhere = [zone('lan1', 'net1'), zone('wan1', 'net2')].map((one) => ({
    ...one,
    metadata: { ...one.metadata, labels: { sdewanPurpose: 'cnf-2' } },
  }));
  const items = hiddenItems(factsOf({ rules: [...zones, all, ...elsewhere, other] }));
  expect(items).toEqual([
    { state: 'Good', what: 'rules of firewall and mwan3: each can decide for a packet' },
  ]);
});

it('says of too many that they were not looked at', () => {
  const many = Array.from({ length: 1_000 }, (_, port) => rule(`r${port}`, { proto: 'tcp' }));
  expect(hiddenItems(factsOf({ rules: [...zones, all, ...many] }))).toEqual([
    { state: 'Good', what: expect.stringContaining('not looked for in default/cnf-1') },
  ]);
});

it('names a Mwan3Rule behind one for all packets', () => {
  const later = { labels, creationTimestamp: '2027-01-01T00:00:00Z' };
  const policy = ruleOf(
    'Mwan3Policy',
    'wan',
    { members: [{ network: 'net2', metric: 1, weight: 1 }] },
    { labels },
  );
  const mwan3 = (name: string, spec: object, more: object) =>
    ruleOf('Mwan3Rule', name, { policy: 'wan', ...spec }, more);
  const items = hiddenItems(
    factsOf({
      rules: [
        policy,
        mwan3('default-rule', { dest_ip: '0.0.0.0/0' }, { labels }),
        mwan3('https', { proto: 'tcp', dest_port: '443', family: 'ipv4' }, later),
        mwan3('six', { proto: 'tcp', dest_port: '443', family: 'ipv6' }, later),
      ],
    }),
  );
  expect(items).toEqual([
    expect.objectContaining({
      what: 'Mwan3Rule default/https',
      cause: expect.stringContaining('Mwan3Rule/default-rule decides before it'),
    }),
  ]);
});
