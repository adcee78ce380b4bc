/**
 * The cases of Kubernetes' own end-to-end tests of NetworkPolicies (test/e2e/network/netpol, at
 * 008b3652), written anew, and a few more: 49 to 53 are mistakes that others have made. In each all
 * pairs of pods are tried, and what is not named as denied must pass.
 *
 * `denied`: `*>x/a` is from everybody to x/a, and what follows `-` is taken out again.
 */
import type { PodOf, PolicyOf, Scenario } from './evaluator.ts';

export type Protocol = 'TCP' | 'UDP' | 'SCTP';
export type Probe = { protocol: Protocol; port: 80 | 81; denied: string };

/** How blocks are written in the family that is tried. */
export type Blocks = { of: (pod: string) => string; all: string };

export type Step = {
  policies: (blocks: Blocks) => readonly PolicyOf[];
  /** Labels that pods (`x/a`) and namespaces (`y`) have besides their usual ones. */
  labels?: Readonly<Record<string, Record<string, string>>>;
  probes: readonly Probe[];
};

export type Case = { number: number; title: string; steps: readonly Step[] };

const NAMESPACES = ['x', 'y', 'z'];
const NAMES = ['a', 'b', 'c'];
const PORTS = [80, 81] as const;
const PROTOCOLS: readonly Protocol[] = ['TCP', 'UDP', 'SCTP'];

export const PODS = NAMESPACES.flatMap((namespace) => NAMES.map((name) => `${namespace}/${name}`));

export const addressOfPod = (pod: string, family: 4 | 6): string => {
  const [namespace = '', name = ''] = pod.split('/');
  const numbers = [NAMESPACES.indexOf(namespace) + 1, NAMES.indexOf(name) + 1];
  return family === 4 ? `10.1.${numbers.join('.')}` : `fd00:1:${numbers.join('::')}`;
};

export const blocksIn = (family: 4 | 6): Blocks => ({
  of: (pod) => `${addressOfPod(pod, family)}/${family === 4 ? 32 : 128}`,
  all: family === 4 ? '10.0.0.0/8' : 'fd00::/8',
});

export const scenarioOf = ({ policies, labels = {} }: Step, family: 4 | 6): Scenario => ({
  namespaces: Object.fromEntries(
    NAMESPACES.map((name) => [
      name,
      { ns: name, 'kubernetes.io/metadata.name': name, ...labels[name] },
    ]),
  ),
  pods: PODS.map((pod): PodOf => {
    const [namespace = '', name = ''] = pod.split('/');
    return {
      namespace,
      name,
      labels: { pod: name, ...labels[pod] },
      addresses: [addressOfPod(pod, 4), addressOfPod(pod, 6)],
      ports: PROTOCOLS.flatMap((protocol) =>
        PORTS.map((port) => ({
          name: `serve-${port}-${protocol.toLowerCase()}`,
          protocol,
          port,
        })),
      ),
    };
  }),
  policies: [...policies(blocksIn(family))],
});

/** `from>to` of all pairs that are denied. */
export const deniedPairs = (denied: string): ReadonlySet<string> => {
  const [named = '', without = ''] = denied.split(' - ');
  const taken = new Set(pairsOf(without));
  return new Set(pairsOf(named).filter((pair) => !taken.has(pair)));
};

export const ALL_PAIRS = PODS.flatMap((from) =>
  PODS.filter((to) => to !== from).map((to) => `${from}>${to}`),
);

const pairsOf = (patterns: string): string[] =>
  patterns
    .split(' ')
    .filter((pattern) => pattern !== '')
    .flatMap((pattern) => {
      const [from = '', to = ''] = pattern.split('>').map(podPattern);
      return ALL_PAIRS.filter((pair) => {
        const [one = '', other = ''] = pair.split('>');
        return new RegExp(from).test(one) && new RegExp(to).test(other);
      });
    });

const podPattern = (pattern: string): string =>
  pattern === '*' ? '' : `^${pattern.replace('*', '.')}$`;

type Spec = PolicyOf['spec'];

const A = { matchLabels: { pod: 'a' } };
const B = { matchLabels: { pod: 'b' } };
const C = { matchLabels: { pod: 'c' } };
const ALL = {};
const X = { matchLabels: { ns: 'x' } };
const Y = { matchLabels: { ns: 'y' } };
const among = (key: string, operator: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator, values }],
});

const ingress = (podSelector: Spec['podSelector'], rules: Spec['ingress']): Spec => ({
  podSelector,
  policyTypes: ['Ingress'],
  ingress: rules ?? [],
});
const egress = (podSelector: Spec['podSelector'], rules: Spec['egress']): Spec => ({
  podSelector,
  policyTypes: ['Egress'],
  egress: rules ?? [],
});
const both = (
  podSelector: Spec['podSelector'],
  into: Spec['ingress'],
  out: Spec['egress'],
): Spec => ({
  podSelector,
  policyTypes: ['Ingress', 'Egress'],
  ingress: into ?? [],
  egress: out ?? [],
});

const inNamespace = (namespace: string, ...specs: readonly Spec[]): PolicyOf[] =>
  specs.map((spec, at) => ({ namespace, name: `policy-${at}`, spec }));
const inX =
  (...specs: readonly Spec[]) =>
  () =>
    inNamespace('x', ...specs);

const tcp = (port: 80 | 81, denied: string): Probe => ({ protocol: 'TCP', port, denied });
const udp = (port: 80 | 81, denied: string): Probe => ({ protocol: 'UDP', port, denied });

const ONLY_B = '*>x/a - x/b>x/a';
const ONLY_Y = 'x/*>x/a z/*>x/a';

const denyIngress = ingress(ALL, []);
const denyBoth = both(ALL, [], []);
const fromY81 = (protocol: Protocol): Spec =>
  ingress(A, [{ from: [{ namespaceSelector: Y }], ports: [{ protocol, port: 81 }] }]);
const fromAOfY = ingress(A, [{ from: [{ namespaceSelector: Y, podSelector: A }] }]);

/** The same policies, tried with another protocol: 1, 14 and 13. */
const withProtocol = (first: number, protocol: Protocol): Case[] => [
  {
    number: first,
    title: `nothing may enter, by ${protocol}`,
    steps: [{ policies: inX(denyIngress), probes: [{ protocol, port: 80, denied: '*>x/*' }] }],
  },
  {
    number: first + 1,
    title: `from a namespace, one port of ${protocol}`,
    steps: [{ policies: inX(fromY81(protocol)), probes: [{ protocol, port: 81, denied: ONLY_Y }] }],
  },
  {
    number: first + 2,
    title: `from pods of a namespace, by ${protocol}`,
    steps: [
      { policies: inX(fromAOfY), probes: [{ protocol, port: 80, denied: '*>x/a - y/a>x/a' }] },
    ],
  },
];

/** With one step of TCP 80. */
const simple = (number: number, title: string, spec: Spec, denied: string): Case => ({
  number,
  title,
  steps: [{ policies: inX(spec), probes: [tcp(80, denied)] }],
});

export const CASES: readonly Case[] = [
  simple(1, 'nothing may enter', denyIngress, '*>x/*'),
  simple(2, 'nothing may enter or leave', denyBoth, '*>x/* x/*>*'),
  simple(3, 'from pods by label', ingress(A, [{ from: [{ podSelector: B }] }]), ONLY_B),
  {
    number: 4,
    title: 'nothing may enter, but to one pod from all pods',
    steps: [
      {
        policies: inX(denyIngress, ingress(A, [{ from: [{ namespaceSelector: ALL }] }])),
        probes: [tcp(80, '*>x/b *>x/c')],
      },
    ],
  },
  simple(5, 'from all namespaces', ingress(A, [{ from: [{ namespaceSelector: ALL }] }]), ''),
  simple(6, 'from a namespace', ingress(A, [{ from: [{ namespaceSelector: Y }] }]), ONLY_Y),
  simple(
    7,
    'from pods by expression',
    ingress(A, [{ from: [{ podSelector: among('pod', 'In', 'b') }] }]),
    ONLY_B,
  ),
  simple(
    8,
    'from namespaces by expression',
    ingress(A, [{ from: [{ namespaceSelector: among('ns', 'In', 'y') }] }]),
    ONLY_Y,
  ),
  simple(
    9,
    'from namespaces, or from pods',
    ingress(A, [{ from: [{ namespaceSelector: among('ns', 'NotIn', 'x') }, { podSelector: B }] }]),
    'x/c>x/a',
  ),
  simple(
    10,
    'from pods of namespaces',
    ingress(A, [{ from: [{ namespaceSelector: among('ns', 'NotIn', 'x'), podSelector: B }] }]),
    '*>x/a - y/b>x/a z/b>x/a',
  ),
  simple(
    11,
    'from pods of namespaces, both by expression',
    ingress(A, [
      {
        from: [
          {
            namespaceSelector: among('ns', 'NotIn', 'x'),
            podSelector: among('pod', 'In', 'b', 'c'),
          },
        ],
      },
    ]),
    'x/*>x/a y/a>x/a z/a>x/a',
  ),
  simple(
    12,
    'from pods of two labels',
    ingress(A, [{ from: [{ podSelector: B }, { podSelector: C }] }]),
    '*>x/a - x/b>x/a x/c>x/a',
  ),
  simple(13, 'from pods of a namespace', fromAOfY, '*>x/a - y/a>x/a'),
  {
    number: 14,
    title: 'from a namespace, one port',
    steps: [{ policies: inX(fromY81('TCP')), probes: [tcp(81, ONLY_Y)] }],
  },
  {
    number: 15,
    title: 'two policies unite their ports',
    steps: [
      { policies: inX(fromY81('TCP')), probes: [tcp(81, ONLY_Y), tcp(80, '*>x/a')] },
      {
        policies: inX(
          fromY81('TCP'),
          ingress(A, [
            { from: [{ namespaceSelector: Y }], ports: [{ protocol: 'TCP', port: 80 }] },
          ]),
        ),
        probes: [tcp(80, ONLY_Y)],
      },
    ],
  },
  {
    number: 16,
    title: 'everything may enter',
    steps: [{ policies: inX(ingress(ALL, [{}])), probes: [tcp(80, ''), tcp(81, '')] }],
  },
  {
    number: 17,
    title: 'a port by name',
    steps: [
      {
        policies: inX(ingress(ALL, [{ ports: [{ port: 'serve-81-tcp' }] }])),
        probes: [tcp(81, ''), tcp(80, '*>x/*')],
      },
    ],
  },
  {
    number: 18,
    title: 'a port by name, from a namespace',
    steps: [
      {
        policies: inX(
          ingress(A, [{ from: [{ namespaceSelector: Y }], ports: [{ port: 'serve-80-tcp' }] }]),
        ),
        probes: [tcp(80, ONLY_Y), tcp(81, '*>x/a')],
      },
    ],
  },
  {
    number: 19,
    title: 'a port by name, of whoever the packet goes to',
    steps: [
      {
        policies: inX(egress(ALL, [{ ports: [{ port: 'serve-80-tcp' }] }])),
        probes: [tcp(80, ''), tcp(81, 'x/*>*')],
      },
    ],
  },
  {
    number: 20,
    title: 'a policy that is changed',
    steps: [
      { policies: inX(ingress(ALL, [{}])), probes: [tcp(81, '')] },
      { policies: inX(denyIngress), probes: [tcp(81, '*>x/*')] },
    ],
  },
  {
    number: 21,
    title: 'a namespace that gets the label',
    steps: [false, true].map((isLabelled) => ({
      policies: inX(
        ingress(A, [{ from: [{ namespaceSelector: { matchLabels: { ns2: 'updated' } } }] }]),
      ),
      ...(isLabelled && { labels: { y: { ns2: 'updated' } } }),
      probes: [tcp(80, isLabelled ? ONLY_Y : '*>x/a')],
    })),
  },
  {
    number: 22,
    title: 'a pod that gets the label',
    steps: [false, true].map((isLabelled) => ({
      policies: inX(
        ingress(A, [{ from: [{ podSelector: { matchLabels: { pod2: 'updated' } } }] }]),
      ),
      ...(isLabelled && { labels: { 'x/b': { pod2: 'updated' } } }),
      probes: [tcp(80, isLabelled ? ONLY_B : '*>x/a')],
    })),
  },
  simple(
    23,
    'from all pods of the own namespace',
    ingress(ALL, [{ from: [{ podSelector: ALL }] }]),
    'y/*>x/* z/*>x/*',
  ),
  {
    number: 24,
    title: 'a pod that becomes one of the selected',
    steps: [false, true].map((isLabelled) => ({
      policies: inX(ingress({ matchLabels: { target: 'isolated' } }, [])),
      ...(isLabelled && { labels: { 'x/a': { target: 'isolated' } } }),
      probes: [tcp(80, isLabelled ? '*>x/a' : '')],
    })),
  },
  simple(25, 'nothing may leave one pod', egress(A, []), 'x/a>*'),
  simple(26, 'nothing may leave', egress(ALL, []), 'x/*>*'),
  {
    number: 27,
    title: 'both directions in one policy',
    steps: [
      {
        policies: inX(
          both(A, [{ from: [{ podSelector: B }] }], [{ ports: [{ protocol: 'TCP', port: 80 }] }]),
        ),
        probes: [tcp(80, ONLY_B), tcp(81, '*>x/a x/a>* - x/b>x/a')],
      },
    ],
  },
  {
    number: 28,
    title: 'both sides must allow',
    steps: [
      {
        policies: () => [
          ...inNamespace('x', egress(A, [{ to: [{ namespaceSelector: Y, podSelector: A }] }])),
          ...inNamespace(
            'y',
            ingress(among('pod', 'In', 'a', 'b'), [
              { from: [{ namespaceSelector: X, podSelector: A }] },
            ]),
          ),
        ],
        probes: [tcp(80, 'x/a>* *>y/a *>y/b - x/a>y/a')],
      },
    ],
  },
  simple(
    29,
    'to pods of a namespace',
    egress(A, [{ to: [{ namespaceSelector: Y, podSelector: A }] }]),
    'x/a>* - x/a>y/a',
  ),
  {
    number: 30,
    title: 'all ports of one protocol',
    steps: [
      {
        policies: inX(ingress(A, [{ ports: [{ protocol: 'TCP' }] }])),
        probes: [tcp(80, ''), tcp(81, ''), udp(80, '*>x/a')],
      },
    ],
  },
  {
    number: 31,
    title: 'one port may enter, then everything',
    steps: [
      {
        policies: inX(ingress(ALL, [{ ports: [{ port: 80 }] }])),
        probes: [tcp(81, '*>x/*')],
      },
      {
        policies: inX(ingress(ALL, [{ ports: [{ port: 80 }] }]), ingress(ALL, [{}])),
        probes: [tcp(81, '')],
      },
    ],
  },
  {
    number: 32,
    title: 'one port may leave, then everything',
    steps: [
      { policies: inX(egress(ALL, [{ ports: [{ port: 80 }] }])), probes: [tcp(81, 'x/*>*')] },
      {
        policies: inX(egress(ALL, [{ ports: [{ port: 80 }] }]), egress(ALL, [{}])),
        probes: [tcp(81, '')],
      },
    ],
  },
  {
    number: 33,
    title: 'a policy that is deleted',
    steps: [
      { policies: inX(denyBoth), probes: [tcp(80, '*>x/* x/*>*')] },
      { policies: inX(), probes: [tcp(80, '')] },
    ],
  },
  {
    number: 34,
    title: 'to one address',
    steps: [
      {
        policies: ({ of }) =>
          inNamespace('x', egress(A, [{ to: [{ ipBlock: { cidr: of('y/b') } }] }])),
        probes: [tcp(80, 'x/a>* - x/a>y/b')],
      },
    ],
  },
  {
    number: 35,
    title: 'to a block without one address',
    steps: [
      {
        policies: ({ of, all }) =>
          inNamespace('x', egress(A, [{ to: [{ ipBlock: { cidr: all, except: [of('x/b')] } }] }])),
        probes: [tcp(80, 'x/a>x/b')],
      },
    ],
  },
  {
    number: 36,
    title: 'an exception of one policy, allowed by another',
    steps: [
      {
        policies: ({ of, all }) =>
          inNamespace('x', egress(A, [{ to: [{ ipBlock: { cidr: all, except: [of('x/b')] } }] }])),
        probes: [tcp(80, 'x/a>x/b')],
      },
      {
        policies: ({ of }) =>
          inNamespace('x', egress(A, [{ to: [{ ipBlock: { cidr: of('x/b') } }] }])),
        probes: [tcp(80, 'x/a>* - x/a>x/b')],
      },
      {
        policies: ({ of, all }) =>
          inNamespace(
            'x',
            egress(A, [{ to: [{ ipBlock: { cidr: all, except: [of('x/b')] } }] }]),
            egress(A, [{ to: [{ ipBlock: { cidr: of('x/b') } }] }]),
          ),
        probes: [tcp(80, '')],
      },
    ],
  },
  {
    number: 37,
    title: 'everything may leave, then nothing may enter',
    steps: [
      { policies: inX(egress(A, [{}])), probes: [tcp(80, '')] },
      { policies: inX(egress(A, [{}]), ingress(A, [])), probes: [tcp(80, '*>x/a')] },
    ],
  },
  {
    number: 38,
    title: 'nothing may enter, but SCTP to one port: TCP is denied',
    steps: [
      {
        policies: inX(denyIngress, ingress(A, [{ ports: [{ protocol: 'SCTP', port: 81 }] }])),
        probes: [tcp(81, '*>x/*')],
      },
    ],
  },
  {
    number: 39,
    title: 'SCTP to one port: TCP is denied',
    steps: [
      {
        policies: inX(ingress(A, [{ ports: [{ protocol: 'SCTP', port: 80 }] }])),
        probes: [tcp(81, '*>x/a')],
      },
    ],
  },
  {
    number: 40,
    title: 'UDP to one port: TCP is denied',
    steps: [
      {
        policies: inX(ingress(A, [{ ports: [{ protocol: 'UDP', port: 81 }] }])),
        probes: [tcp(81, '*>x/a')],
      },
    ],
  },
  simple(
    41,
    'from a namespace by the label of its name',
    ingress(A, [
      { from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'y' } } }] },
    ]),
    ONLY_Y,
  ),
  simple(
    42,
    'to all namespaces but one, by the label of its name',
    egress(A, [
      { to: [{ namespaceSelector: among('kubernetes.io/metadata.name', 'NotIn', 'y') }] },
    ]),
    'x/a>y/*',
  ),
  ...withProtocol(43, 'UDP'),
  ...withProtocol(46, 'SCTP'),
  {
    number: 49,
    title: 'a block with two exceptions',
    steps: [
      {
        policies: ({ of, all }) =>
          inNamespace(
            'x',
            egress(A, [{ to: [{ ipBlock: { cidr: all, except: [of('x/b'), of('y/b')] } }] }]),
          ),
        probes: [tcp(80, 'x/a>x/b x/a>y/b')],
      },
    ],
  },
  {
    number: 50,
    title: 'a range of ports',
    steps: [
      {
        policies: inX(ingress(A, [{ ports: [{ protocol: 'TCP', port: 79, endPort: 80 }] }])),
        probes: [tcp(80, ''), tcp(81, '*>x/a')],
      },
    ],
  },
  {
    number: 51,
    title: 'an empty value of a label is that value and no other',
    steps: [
      {
        policies: inX(ingress(A, [{ from: [{ podSelector: { matchLabels: { role: '' } } }] }])),
        labels: { 'x/b': { role: '' }, 'x/c': { role: 'other' } },
        probes: [tcp(80, ONLY_B)],
      },
    ],
  },
  simple(
    52,
    'an empty rule counts wherever it stands',
    ingress(A, [{ from: [{ podSelector: B }] }, {}]),
    '',
  ),
  {
    number: 53,
    title: "a port's name counts with its protocol",
    steps: [
      {
        policies: inX(ingress(A, [{ ports: [{ port: 'serve-80-tcp', protocol: 'UDP' }] }])),
        probes: [udp(80, '*>x/a')],
      },
    ],
  },
];
