import { describe, expect, it } from 'vitest';
import {
  networksIn,
  networkTextsIn,
  parseNetworks,
  parseNetworkStatus,
  parseSelections,
} from './networks.ts';
import type { PodNetworks } from './types.ts';

const NFN = 'k8s.plugin.opnfv.org/nfn-network';
const NETWORKS = 'k8s.v1.cni.cncf.io/networks';
const STATUS = 'k8s.v1.cni.cncf.io/network-status';

/** Scripts of OpenWRT paste the names of interfaces unquoted. */
const HOSTILE = [
  'net0\n  notify /tmp/x',
  'net0;id',
  '$(id)',
  '-net0',
  'net0 wan',
  "net0'",
  'net0/',
];

describe('the networks of Nodus', () => {
  it('are those of the seed', () => {
    const annotation = `{ "type": "ovn4nfv", "interface": [
      { "defaultGateway": "false", "interface": "net0", "name": "ovn-priv-net" },
      { "defaultGateway": "false", "interface": "net1", "name": "ovn-net1" } ] }`;
    expect([...parseNetworks(annotation)]).toEqual([
      ['ovn-priv-net', 'net0'],
      ['ovn-net1', 'net1'],
    ]);
  });

  it('are none without an annotation', () => {
    expect(parseNetworks(undefined).size).toBe(0);
    expect(parseNetworks(' ').size).toBe(0);
  });

  it('count once per name', () => {
    const twice = [
      { name: 'a', interface: 'net0' },
      { name: 'a', interface: 'net1' },
    ];
    expect(parseNetworks(JSON.stringify({ interface: twice })).get('a')).toBe('net0');
  });

  it.each([
    '{',
    '[]',
    '{"interface": [{"name": "a"}]}',
    '{"interface": 1}',
    ...HOSTILE.map((text) => JSON.stringify({ interface: [{ name: 'a', interface: text }] })),
  ])('cannot be read from %s', (annotation) => {
    expect(() => parseNetworks(annotation)).toThrow(/./);
  });
});

describe('the annotations of Multus', () => {
  it.each(HOSTILE)('name no interface %j', (text) => {
    const entry = JSON.stringify([{ name: 'lan', interface: text }]);
    expect(() => parseSelections(entry, 'edge')).toThrow(/interface/);
    expect(() => parseSelections(`lan@${text}`, 'edge')).toThrow(/./);
    expect(parseNetworkStatus(entry, 'edge')).toEqual([{ name: 'edge/lan', interface: undefined }]);
  });

  it.each([
    ['in the short form', 'lan, apps/wan@wan0 ,lan @ x'],
    [
      'as JSON',
      '[{"name":"lan"},{"name":"wan","namespace":"apps","interface":"wan0","ips":["10.0.0.1/24"]},{"name":"lan","interface":"x"}]',
    ],
  ])('select attachments %s', (_, text) => {
    expect(parseSelections(text, 'edge')).toEqual([
      { name: 'edge/lan', interface: undefined },
      { name: 'apps/wan', interface: 'wan0' },
      { name: 'edge/lan', interface: 'x' },
    ]);
  });

  it.each(['a/b/c', 'a@b@c', 'a,,b', '@x', '[{"namespace":"a"}]', '{"name":"a"}', '["a"]'])(
    'select nothing that can be read as %s',
    (text) => {
      expect(() => parseSelections(text, 'edge')).toThrow(/./);
    },
  );

  it("say in network-status what there is, without the cluster's network", () => {
    const text = `[{"name":"cbr0","interface":"eth0","default":true,"ips":["10.244.0.2"]},
      {"name":"edge/lan","interface":"net1","mac":"02:00:00:00:00:01","dns":{}},{"name":"old","interface":""}]`;
    expect(parseNetworkStatus(text, 'edge')).toEqual([
      { name: 'edge/lan', interface: 'net1' },
      { name: 'edge/old', interface: undefined },
    ]);
    expect(parseNetworkStatus('', 'edge')).toEqual([]);
    expect(() => parseNetworkStatus('{}', 'edge')).toThrow(/./);
  });
});

describe('the networks of a pod in namespace edge', () => {
  const read = (annotations: Record<string, string>): PodNetworks =>
    networksIn(networkTextsIn(annotations, 'edge'));
  const status = (...entries: [string, string?][]): string =>
    JSON.stringify(entries.map(([name, device]) => ({ name, interface: device })));
  const whatIs = (name: string, annotations: Record<string, string>) => {
    const { networks, unresolved } = read(annotations);
    return networks.get(name) ?? unresolved?.get(name)?.map(({ title }) => title);
  };

  it('have the name and the full name, those of other namespaces the full name alone', () => {
    const annotations = { [NETWORKS]: 'lan@x, apps/wan@y' };
    expect(whatIs('lan', annotations)).toBe('x');
    expect(whatIs('edge/lan', annotations)).toBe('x');
    expect(whatIs('apps/wan', annotations)).toBe('y');
    expect(whatIs('wan', annotations)).toBeUndefined();
    expect(read(annotations).networkNames).toEqual(['apps/wan', 'lan']);
  });

  it('stay two where they are of two namespaces', () => {
    const annotations = { [NETWORKS]: 'a/b@x, a-b@y, edge/b@z' };
    expect(['a/b', 'a-b', 'b'].map((name) => whatIs(name, annotations))).toEqual(['x', 'y', 'z']);
  });

  it('wait for the interface, and have the one that Multus writes', () => {
    const annotations = { [NETWORKS]: 'lan, apps/wan' };
    expect(whatIs('lan', annotations)).toEqual(['edge/lan']);
    const later = { ...annotations, [STATUS]: status(['apps/wan', 'net2'], ['edge/lan', 'net1']) };
    expect(whatIs('lan', later)).toBe('net1');
    expect(whatIs('apps/wan', later)).toBe('net2');
  });

  it('have the interface that Multus chose, whichever was asked for', () => {
    const annotations = { [NETWORKS]: 'lan@x', [STATUS]: status(['edge/lan', 'x7']) };
    for (const name of ['lan', 'lan@x', 'edge/lan@x7'])
      expect(whatIs(name, annotations)).toBe('x7');
  });

  it('need the interface where an attachment is there twice', () => {
    const annotations = {
      [NETWORKS]: 'lan@x,lan',
      [STATUS]: status(['edge/lan', 'net2'], ['edge/lan', 'x']),
    };
    expect(whatIs('lan', annotations)).toEqual(['edge/lan@x', 'edge/lan@net2']);
    expect(whatIs('lan@net2', annotations)).toBe('net2');
    expect(whatIs('edge/lan@x', annotations)).toBe('x');
  });

  it('are those of both kinds, and a name of both is told with either', () => {
    const annotations = {
      [NFN]: '{"interface":[{"name":"lan","interface":"net0"},{"name":"priv","interface":"net9"}]}',
      [NETWORKS]: 'lan@x,wan@y',
    };
    expect(whatIs('lan', annotations)).toEqual(['lan of Nodus', 'edge/lan@x']);
    expect(['edge/lan', 'wan', 'priv'].map((name) => whatIs(name, annotations))).toEqual([
      'x',
      'y',
      'net9',
    ]);
    expect(read(annotations).networkNames).toEqual(['lan', 'priv', 'wan']);
  });

  it('are those that Multus gives to all pods, too', () => {
    const annotations = {
      [NETWORKS]: 'lan@x',
      [STATUS]: status(['edge/lan', 'x'], ['sys/all', 'net1']),
    };
    expect(whatIs('sys/all', annotations)).toBe('net1');
  });

  it('are none without an annotation', () => {
    expect(networkTextsIn({ other: 'x' }, 'edge')).toBeUndefined();
    expect(read({}).networks.size).toBe(0);
  });
});
