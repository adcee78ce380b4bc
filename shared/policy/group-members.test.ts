import { describe, expect, test } from 'vitest';
import { groupId, type Group, type PolicyPod } from './group-members.ts';
import { membersOf } from './testing.ts';

const pod = (name: string, more: Partial<PolicyPod> = {}): PolicyPod => ({
  namespace: 'ns',
  name,
  uid: name,
  labels: { app: name },
  creationTimestamp: '2026-01-01T00:00:00Z',
  addresses: ['10.0.0.1'],
  ports: [],
  isHostNetwork: false,
  isFinished: false,
  ...more,
});

const all: Group = { pods: {}, namespaces: { labels: {} } };
const membersIn = (pods: readonly PolicyPod[], group = all) => membersOf(group, pods, () => ({}));

describe('membersOf', () => {
  test('pods with the addresses of their node, and those that have ended, are in no group', () => {
    const pods = [pod('a', { isHostNetwork: true }), pod('b', { isFinished: true })];
    expect(membersIn(pods)).toStrictEqual([]);
  });

  test('has each address once, in its one spelling', () => {
    expect(membersIn([pod('a', { addresses: ['FD00::0001', 'fd00::1', 'none'] })])).toStrictEqual([
      'fd00::1',
    ]);
  });

  const mine: Group = { pods: { matchLabels: { app: 'mine' } }, namespaces: { name: 'ns' } };
  const victim = pod('victim', { labels: { app: 'mine' } });

  test.each<[string, Partial<PolicyPod>]>([
    ['none runs the other', { isUnscheduled: true }],
    ['the other is being stopped', { isTerminating: true }],
    ['none runs the other, which is later', { isUnscheduled: true, creationTimestamp: '2027' }],
  ])(
    'gives an address that two pods have to the one that a node runs and that stays: %s',
    (_, more) => {
      const fake = pod('fake', { labels: { app: 'fake' }, ...more });
      const fakes: Group = { pods: { matchLabels: { app: 'fake' } }, namespaces: { name: 'ns' } };
      expect(membersIn([victim, fake], mine)).toStrictEqual(['10.0.0.1']);
      expect(membersIn([victim, fake], fakes)).toStrictEqual([]);
    },
  );

  test('marks an address whose pod is not certain, without ports', () => {
    const ports = [{ name: 'dns', protocol: 'UDP' as const, port: 53 }];
    const twin = pod('twin', { creationTimestamp: '2026-01-01T00:00:01Z', ports });
    expect(membersIn([victim, twin], mine)).toStrictEqual(['?10.0.0.1']);
    expect(membersIn([victim], mine)).toStrictEqual(['10.0.0.1']);
    const named: Group = { ...all, port: { name: 'dns', protocol: 'UDP' } };
    expect(membersIn([victim, twin], named)).toStrictEqual([]);
    expect(membersIn([twin], named)).toStrictEqual(['10.0.0.1 . 53']);
  });

  test('takes no address away for a pod that has ended', () => {
    const ended = pod('z', { isFinished: true, creationTimestamp: '2026-01-02T00:00:00Z' });
    expect(membersIn([pod('a'), ended])).toStrictEqual(['10.0.0.1']);
  });

  test('gives a named port the number that it has on each pod, with its protocol', () => {
    const group: Group = { ...all, port: { name: 'dns', protocol: 'UDP' } };
    const dns = (protocol: 'TCP' | 'UDP', port: number) => ({ name: 'dns', protocol, port });
    const pods = [
      pod('a', { ports: [dns('UDP', 53), dns('TCP', 54)] }),
      pod('b', { addresses: ['10.0.0.2'], ports: [dns('UDP', 5353)] }),
      pod('c', { addresses: ['10.0.0.3'], ports: [dns('TCP', 53)] }),
    ];
    expect(membersIn(pods, group)).toStrictEqual(['10.0.0.1 . 53', '10.0.0.2 . 5353']);
  });
});

describe('an address that the coordinator has not given, in a network of which it gives them', () => {
  const scope = [{ name: 'lan', subnets: ['10.1.0.0/24'] }];
  const inLan = (more: object = {}) => ({
    secondAddresses: [{ network: 'lan', addresses: ['10.1.0.5'], ...more }],
  });
  const foreign = inLan({ isForeign: true });
  const of = (name: string, pods: readonly PolicyPod[]) =>
    membersIn(pods, { pods: { matchLabels: { app: name } }, namespaces: { name: 'ns' }, scope });
  const named = (name: string, more: object) => pod(name, { labels: { app: name }, ...more });

  test('isolates its pod, and lets nothing pass', () => {
    expect(of('a', [named('a', foreign)])).toEqual(['?10.1.0.5']);
  });

  test('isolates each of two pods that say they have it', () => {
    const pods = [named('honest', foreign), named('liar', foreign)];
    expect(of('honest', pods)).toEqual(['?10.1.0.5']);
    expect(of('liar', pods)).toEqual(['?10.1.0.5']);
  });

  test('takes none from the pod that was given it', () => {
    const pods = [named('given', inLan()), named('liar', foreign)];
    expect(of('given', pods)).toEqual(['10.1.0.5']);
    expect(of('liar', pods)).toEqual([]);
  });
});

describe('groupId', () => {
  test('says what is selected, not how it is written', () => {
    const one: Group = { pods: { matchLabels: { a: '1', b: '2' } }, namespaces: { name: 'ns' } };
    const same: Group = {
      pods: { matchLabels: { b: '2', a: '1' }, matchExpressions: [] },
      namespaces: { name: 'ns' },
    };
    expect(groupId(one)).toBe(groupId(same));
  });

  test('differs where anything does', () => {
    const groups: Group[] = [
      all,
      { pods: {}, namespaces: { name: '' } },
      { pods: {}, namespaces: { name: 'ns' } },
      { pods: {}, namespaces: { labels: { matchLabels: { a: '' } } } },
      { pods: { matchLabels: { a: '' } }, namespaces: { labels: {} } },
      {
        pods: { matchExpressions: [{ key: 'a', operator: 'Exists' }] },
        namespaces: { labels: {} },
      },
      { ...all, port: { name: 'dns', protocol: 'UDP' } },
      { ...all, port: { name: 'dns', protocol: 'TCP' } },
    ];
    expect(new Set(groups.map(groupId)).size).toBe(groups.length);
  });
});
