import { expect, it } from 'vitest';
import type { CommandIo } from '../command.ts';
import { locatedObjects } from '../manifest/positions.ts';
import { policiesIn, splitPolicies } from './files.ts';

const read = (text: string) => {
  const said: string[] = [];
  const io: CommandIo = {
    env: {},
    readText: async () => '',
    out: () => undefined,
    say: (line) => said.push(line),
  };
  const { policies, others } = splitPolicies([{ file: 'p.yaml', objects: locatedObjects(text) }]);
  return { found: policiesIn(policies, io, 'shop'), said, others };
};
const policy = (port: string): string => `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db}
spec:
  ingress:
  - ports:
    - port: ${port}
      endPort: 80
`;

it('policies are taken apart from what else is in a file, in the namespace of the context', () => {
  const { found, others, said } = read(`${policy('79')}---\nkind: FirewallRule\n`);
  expect(found).toMatchObject({ policies: [{ namespace: 'shop', name: 'db', networks: [] }] });
  expect(others.flatMap(({ objects }) => objects.map(({ value }) => value))).toEqual([
    { kind: 'FirewallRule' },
  ]);
  expect(said).toEqual([]);
});

it.each([
  [policy('http'), 'p.yaml:8:7: spec.ingress.0.ports.0.endPort: ends no range that begins at port'],
  [policy('90'), 'p.yaml:8:7: spec.ingress.0.ports.0.endPort: ends no range that begins at port'],
  [policy('1').replace('/v1', '/v1beta1'), 'p.yaml:1:1: apiVersion: must be networking.k8s.io/v1'],
  [policy('1').replace('name: db', 'labels: {}'), 'p.yaml:3:1: metadata.name: '],
])('what is wrong is said with its place: %s', (text, words) => {
  const { found, said } = read(text);
  expect(found).toEqual({ code: 1 });
  expect(said).toEqual([expect.stringContaining(words)]);
});
