/**
 * Random scenarios: policies by the matrix of cyclonus (direction, target, rules, peers, ports, and
 * pairs that contradict each other), with few labels, addresses and ports, so that they often have
 * something to do with each other.
 */
import * as fc from 'fast-check';
import type { Packet, PeerOf, PodOf, PolicyOf, PortOf, Selector, Scenario } from './evaluator.ts';

const NAMESPACES = ['x', 'y', 'z'];
const KEYS = ['app', 'tier'];
const VALUES = ['', 'one', 'two'];
const PROTOCOLS = ['TCP', 'UDP', 'SCTP'];
const PORT_NAMES = ['http', 'dns'];
const NUMBERS = [79, 80, 81, 8080];

/** Pods, and addresses of none in the same blocks. */
const POD_NUMBERS = [1, 2, 3, 4, 5, 6];
const ALL_NUMBERS = [...POD_NUMBERS, 7, 130];
const addressOf = (number: number, family: 4 | 6): string =>
  family === 4 ? `10.1.0.${number}` : `fd00::1:${number.toString(16)}`;

const labels = fc.dictionary(fc.constantFrom(...KEYS), fc.constantFrom(...VALUES), {
  noNullPrototype: true,
});

const expression = fc.oneof(
  fc.record({
    key: fc.constantFrom(...KEYS),
    operator: fc.constantFrom('In', 'NotIn'),
    values: fc.uniqueArray(fc.constantFrom(...VALUES), { minLength: 1, maxLength: 2 }),
  }),
  fc.record({
    key: fc.constantFrom(...KEYS),
    operator: fc.constantFrom('Exists', 'DoesNotExist'),
  }),
);

const selector: fc.Arbitrary<Selector> = fc.oneof(
  fc.constant({}),
  fc.record({ matchLabels: labels }),
  fc.record({ matchExpressions: fc.array(expression, { minLength: 1, maxLength: 2 }) }),
  fc.record({ matchLabels: labels, matchExpressions: fc.array(expression, { maxLength: 1 }) }),
);

const block = fc.oneof(
  ...([4, 6] as const).map((family) => {
    const longest = family === 4 ? 32 : 128;
    const inside = fc
      .tuple(fc.constantFrom(...ALL_NUMBERS), fc.constantFrom(longest - 2, longest - 1, longest))
      .map(([number, length]) => `${addressOf(number, family)}/${length}`);
    const cidr = fc
      .constantFrom(0, longest - 16, longest - 7, longest - 1, longest)
      .map((length) => `${addressOf(1, family)}/${length}`);
    return fc.record(
      { cidr, except: fc.array(inside, { maxLength: 3 }) },
      { requiredKeys: ['cidr'] },
    );
  }),
);

const peer: fc.Arbitrary<PeerOf> = fc.oneof(
  fc.record({ podSelector: selector }),
  fc.record({ namespaceSelector: selector }),
  fc.record({ podSelector: selector, namespaceSelector: selector }),
  fc.record({ ipBlock: block }),
);

const protocol = fc.record({ protocol: fc.constantFrom(...PROTOCOLS) }, { requiredKeys: [] });
const port: fc.Arbitrary<PortOf> = fc.oneof(
  protocol,
  fc
    .tuple(protocol, fc.constantFrom(...NUMBERS))
    .map(([of, number]): PortOf => ({ ...of, port: number })),
  fc
    .tuple(protocol, fc.constantFrom(...PORT_NAMES))
    .map(([of, name]): PortOf => ({ ...of, port: name })),
  protocol.map((of): PortOf => ({ ...of, port: 79, endPort: 80 })),
);

const some = <T>(items: fc.Arbitrary<T>) =>
  fc.option(fc.array(items, { maxLength: 3 }), { nil: undefined });

/** `peers` and `ports` of a rule: absent, empty or some. */
const rules = fc.option(
  fc.array(fc.record({ peers: some(peer), ports: some(port) }), { maxLength: 3 }),
  { nil: undefined },
);

const policy: fc.Arbitrary<PolicyOf> = fc
  .record({
    namespace: fc.constantFrom(...NAMESPACES),
    podSelector: selector,
    policyTypes: fc.option(
      fc.constantFrom<string[][]>(['Ingress'], ['Egress'], ['Ingress', 'Egress']),
      {
        nil: undefined,
      },
    ),
    ingress: rules,
    egress: rules,
  })
  .map(({ namespace, ...spec }) => ({
    namespace,
    name: 'policy',
    spec: {
      podSelector: spec.podSelector,
      ...(spec.policyTypes && { policyTypes: spec.policyTypes }),
      ...(spec.ingress && {
        ingress: spec.ingress.map(({ peers, ports }) => ({
          ...(peers && { from: peers }),
          ...(ports && { ports }),
        })),
      }),
      ...(spec.egress && {
        egress: spec.egress.map(({ peers, ports }) => ({
          ...(peers && { to: peers }),
          ...(ports && { ports }),
        })),
      }),
    },
  }));

const namedPort = fc.record({
  name: fc.constantFrom(...PORT_NAMES),
  protocol: fc.constantFrom(...PROTOCOLS),
  port: fc.constantFrom(...NUMBERS),
});

const podAt = (number: number): fc.Arbitrary<PodOf> =>
  fc
    .record({
      namespace: fc.constantFrom(...NAMESPACES),
      labels,
      ports: fc.array(namedPort, { maxLength: 3 }),
      kind: fc.constantFrom('usual', 'usual', 'usual', 'usual', 'hostNetwork', 'finished'),
    })
    .map(({ kind, ...pod }) => ({
      ...pod,
      name: `pod-${number}`,
      addresses: [addressOf(number, 4), addressOf(number, 6)],
      ...(kind !== 'usual' && { [kind]: true }),
    }));

export const scenario: fc.Arbitrary<Scenario> = fc.record({
  namespaces: fc.record(Object.fromEntries(NAMESPACES.map((name) => [name, labels]))),
  pods: fc.tuple(...POD_NUMBERS.map(podAt)),
  policies: fc.array(policy, { minLength: 1, maxLength: 3 }),
});

export const packets: readonly Packet[] = ([4, 6] as const).flatMap((family) =>
  ALL_NUMBERS.flatMap((from) =>
    ALL_NUMBERS.filter((to) => to !== from).flatMap((to) =>
      PROTOCOLS.flatMap((protocol) =>
        NUMBERS.map((number) => ({
          from: addressOf(from, family),
          to: addressOf(to, family),
          protocol,
          port: number,
        })),
      ),
    ),
  ),
);
