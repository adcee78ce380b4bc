import 'reflect-metadata';
import { X509CertificateGenerator } from '@peculiar/x509';
import { describe, expect, it } from 'vitest';
import { kinds } from '#shared/resources/registry.ts';
import { cnf } from '../cluster/testing.ts';
import {
  agentsItem,
  coordinatorItem,
  freshItem,
  installRightsItem,
  kindsItem,
  serverItem,
  silentItem,
  versionsItem,
  webhookItems,
} from './items.ts';
import { checkText, resultOf, type Item } from './view.ts';
import type { VisiblePod } from '../../views/cluster-facts.ts';

const DAY = 86_400_000;
const NOW = Date.parse('2026-01-01T00:00:00Z');

const caUntil = async (end: number): Promise<string> => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const made = await X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: 'CN=ca',
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(NOW - 30 * DAY),
    notAfter: new Date(end),
  });
  return Buffer.from(`${made.toString('pem')}\n`).toString('base64');
};

const webhook = (caBundle: string, path = '/admission/rules/x') => [
  { kind: 'Validating', webhooks: [{ name: 'rules', caBundle, path }] },
];
const webhooks = (found: Parameters<typeof webhookItems>[0]) =>
  webhookItems(found, ['Validating'], NOW);

const pod = (name: string, some: Partial<VisiblePod> = {}): VisiblePod => ({
  namespace: 'edge',
  purpose: 'cnf-1',
  name,
  agentImage: 'agent:1',
  optedOut: false,
  networks: undefined,
  ...some,
});
const crdsOf = (served: string[]) =>
  kinds.map(({ plural, group }) => ({ name: `${plural}.${group}`, served }));
const sides = (agent: string) => ({
  cli: '1.2.0',
  coordinators: ['c:v1.2.0'],
  agents: [agent],
  absent: [],
});
const silent = cnf('cnf-1', 'edge', {
  information: [
    { name: 'a', namespace: 'edge', purpose: 'cnf-1', status: 'Not Available', message: 'gone' },
  ],
});

describe('an item', () => {
  it.each<[string, () => Item[] | Promise<Item[]>]>([
    ['a server that is new enough', () => [serverItem('v1.36.0+k3s1')]],
    ['all kinds', () => [kindsItem(kinds, crdsOf(['v1alpha1', 'v1']))]],
    ['webhooks', async () => webhooks(webhook(await caUntil(NOW + 90 * DAY)))],
    ['a coordinator', () => [coordinatorItem([{ name: 'c', ready: 2, wanted: 2 }])]],
    ['versions', () => [versionsItem(sides('a:1.1.0'))]],
    ['agents', () => [agentsItem([pod('a'), pod('b', { agentImage: undefined, optedOut: true })])]],
    ['reports', () => [silentItem([cnf('cnf-1')])]],
    ['rights', () => [installRightsItem([], 7), freshItem([])]],
  ])('is good, and asks for nothing: %s', async (_, items) => {
    for (const item of await items()) expect(item).toEqual({ state: 'Good', what: item.what });
  });

  it.each<[string, () => Item[] | Promise<Item[]>, string]>([
    ['an old server', () => [serverItem('v1.32.9')], 'before 1.33'],
    ['a kind that is missing', () => [kindsItem(kinds, [])], 'is missing'],
    ['a kind of another version', () => [kindsItem(kinds, crdsOf(['v0']))], 'has no version'],
    ['no webhooks', () => webhooks([]), 'nothing is checked'],
    ['a webhook without a CA', () => webhooks(webhook('')), 'no CA or no path'],
    ['a webhook without a path', () => webhooks(webhook('eA==', '')), 'no CA or no path'],
    ['a CA that is none', () => webhooks(webhook('eA==')), 'no certificate'],
    [
      'a CA that ends soon',
      async () => webhooks(webhook(await caUntil(NOW + DAY))),
      'valid until 2026-01-02 only',
    ],
    [
      'a CA that has ended',
      async () => webhooks(webhook(await caUntil(NOW - DAY))),
      'has ended on 2025-12-31',
    ],
    ['no coordinator', () => [coordinatorItem([])], 'there is none'],
    [
      'a coordinator that is down',
      () => [coordinatorItem([{ name: 'c', ready: 1, wanted: 2 }])],
      '1 of 2 pods of c',
    ],
    ['an agent that is too old', () => [versionsItem(sides('a:1.0.0'))], 'has version 1.0.0'],
    [
      'a pod without an agent',
      () => [agentsItem([pod('a', { agentImage: undefined })])],
      'before the product was installed',
    ],
    ['a silent agent', () => [silentItem([silent])], 'gone'],
    ['rights', () => [installRightsItem(['namespaces'], 7)], 'you may not create namespaces'],
  ])('is bad, with cause and cure: %s', async (_, items, cause) => {
    const [item] = await items();
    expect(item).toMatchObject({ state: 'Bad', cause: expect.stringContaining(cause) });
    expect(item?.cure).toMatch(/\w/);
  });

  it.each<[string, Item]>([
    ['versions that no tag tells', versionsItem(sides('a:dev'))],
    ['what is there already', freshItem(['firewallzones.batch.sdewan.akraino.org'])],
    ['a server of another kind', serverItem('main')],
  ])('cannot be told: %s', (_, item) => {
    expect(item.state).toBe('Unknown');
    expect(item.cause).toMatch(/\w/);
  });
});

it('ranks one bad item over one that cannot be told, and that over good ones', () => {
  const item = (state: Item['state']): Item => ({ state, what: 'x' });
  expect(resultOf([item('Good'), item('Unknown'), item('Bad')])).toBe('Bad');
  expect(resultOf([item('Good'), item('Unknown')])).toBe('Unknown');
  expect(resultOf([item('Good')])).toBe('Good');
});

it('is printed with its mark, its cause and its cure', () => {
  const items: Item[] = [
    { state: 'Good', what: 'a' },
    { state: 'Bad', what: 'b', cause: 'c\u001B[31m', cure: 'd' },
    { state: 'Unknown', what: 'e', cause: 'f' },
  ];
  expect(checkText(items)).toBe(
    '✓ a\n✗ b\n    cause: c\\u001b[31m\n    cure:  d\n? e\n    cause: f\n',
  );
});
