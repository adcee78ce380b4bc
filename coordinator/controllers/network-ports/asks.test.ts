import { describe, expect, it } from 'vitest';
import { NETWORKS_ANNOTATION, NFN_NETWORK_ANNOTATION } from '#shared/names.ts';
import { asksIn, filled, inheriting, type AskTexts } from './asks.ts';

const NODUS =
  '{"type":"ovn4nfv","interface":[{"name":"net-a","interface":"net0","defaultGateway":"false"},{"name":"net-b","interface":"net7"}]}';

const asksOf = (texts: AskTexts) => {
  const read = asksIn(texts, 'edge');
  if ('problem' in read) throw new Error(read.problem);
  return read.asks;
};
const problemOf = (texts: AskTexts): string => {
  const read = asksIn(texts, 'edge');
  return 'problem' in read ? read.problem : 'none';
};
const MAC = '02:00:00:00:00:01';

describe('what a pod asks for', () => {
  it('is read from the form of Nodus and both of Multus', () => {
    const seen = (texts: AskTexts) =>
      asksOf(texts).map(({ name, interface: device }) => `${name} ${device}`);
    expect(seen({ nfn: NODUS, multus: 'macvlan-a, other/b@eth5' })).toEqual([
      'net-a net0',
      'net-b net7',
      'edge/macvlan-a net1',
      'other/b eth5',
    ]);
    expect(seen({ multus: '[{"name":"a","namespace":"x"},{"name":"b"}]' })).toEqual([
      'x/a net1',
      'edge/b net2',
    ]);
    expect(seen({})).toEqual([]);
  });

  it('has the interfaces of Nodus where its attachment is named beside them, as ICN’s CNFs do', () => {
    const nfn = '{"interface":[{"name":"n","interface":"net1"}]}';
    const names = (multus: string) => asksOf({ nfn, multus }).map(({ name }) => name);
    expect(names('[{ "name": "ovn-networkobj" }]')).toEqual(['n']);
    expect(problemOf({ nfn, multus: 'macvlan-a@net1' })).toContain('another one of that name');
  });

  it('has the addresses and the MAC that it wants', () => {
    const multus = '[{"name":"a","ips":["10.1.0.5/24"],"mac":"02:00:00:00:00:AA"}]';
    const nfn = '{"interface":[{"name":"n","interface":"net0","ipAddress":"10.1.0.5 fd00::5"}]}';
    expect(asksOf({ multus })).toMatchObject([
      { fixed: ['10.1.0.5/24'], mac: '02:00:00:00:00:AA' },
    ]);
    expect(asksOf({ nfn })).toMatchObject([{ fixed: ['10.1.0.5', 'fd00::5'] }]);
  });

  it.each<[string, AskTexts, string]>([
    ['no JSON', { nfn: '{' }, NFN_NETWORK_ANNOTATION],
    ['no interface', { nfn: '{"interface":[{"name":"a"}]}' }, 'interface.0.interface'],
    ['an interface twice', { nfn: NODUS, multus: 'a@net0' }, 'interface net0: there is another'],
    [
      'no name of an interface that the API server keeps as it is',
      { nfn: String.raw`{"interface":[{"name":"n","interface":"\ud800"}]}` },
      'is no name of an interface',
    ],
    ['no MAC', { multus: '[{"name":"a","mac":"x"}]' }, 'x is no MAC'],
    ['no address', { multus: '[{"name":"a","ips":["x/24"]}]' }, 'x/24 is no address'],
    ['no list', { multus: '[1]' }, NETWORKS_ANNOTATION],
    [
      'no name in the short form',
      { multus: 'a/b/c' },
      'a/b/c must be [namespace/]name[@interface]',
    ],
    [
      'a longer name of an interface than a NetworkPort takes',
      { multus: `a@${'a'.repeat(65)}` },
      'must be [namespace/]name[@interface]',
    ],
    ['more than can be kept', { multus: 'a,'.repeat(32) + 'a' }, 'more than 32 entries'],
  ])('is not read where it has %s', (_, texts, problem) => {
    expect(problemOf(texts)).toContain(problem);
  });
});

describe('what a pod is given', () => {
  it('is in the form that Nodus reads, and leaves all else as it was', () => {
    const given = asksOf({ nfn: NODUS }).map((ask, at) => ({
      ask,
      addresses: [`10.${at}.0.5`, `fd0${at}::5`],
      lengths: [],
      mac: MAC,
    }));
    expect(filled({ nfn: NODUS }, given)).toEqual({
      [NFN_NETWORK_ANNOTATION]:
        '{"type":"ovn4nfv","interface":[{"name":"net-a","interface":"net0","defaultGateway":"false","ipAddress":"10.0.0.5 fd00::5","macAddress":"02:00:00:00:00:01"},{"name":"net-b","interface":"net7","ipAddress":"10.1.0.5 fd01::5","macAddress":"02:00:00:00:00:01"}]}',
    });
  });

  it('is in the form that Multus reads, also where the pod has the short one', () => {
    const [ask] = asksOf({ multus: 'other/b@eth5,c' });
    if (ask === undefined) throw new Error('nothing is asked for');
    const given = { ask, addresses: ['10.1.0.5'], lengths: ['10.1.0.5/24'], mac: MAC };
    expect(filled({ multus: 'other/b@eth5,c' }, [given])).toEqual({
      [NETWORKS_ANNOTATION]:
        '[{"name":"b","namespace":"other","interface":"eth5","ips":["10.1.0.5/24"],"mac":"02:00:00:00:00:01"},{"name":"c"}]',
    });
  });
});

it('finds the entry of Nodus that would get the address of the managed one before it', () => {
  const asks = asksOf({ nfn: NODUS });
  expect(inheriting(asks, (name) => name === 'net-a')).toBe('net7');
  expect(inheriting(asks, (name) => name === 'net-b')).toBeUndefined();
  expect(inheriting(asks, () => true)).toBeUndefined();
});
