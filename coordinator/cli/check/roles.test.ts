import { expect, it } from 'vitest';
import type { Role } from '../../admission/buckets/bindings.ts';
import { lackingRoles } from './roles.ts';

const known = { plurals: ['firewallzones', 'mwan3rules'], types: ['basic', 'app-intent'] };
const use = (changes: object = {}) => ({
  apiGroups: ['permissions.sdewan.akraino.org'],
  resources: ['buckettypes'],
  verbs: ['use'],
  ...changes,
});
const role = (annotation: string | undefined, rules: Role['rules'] = []): Role => ({
  metadata: {
    name: 'editor',
    namespace: 'edge',
    ...(annotation !== undefined && {
      annotations: { 'sdewan-bucket-type-permission': annotation },
    }),
  },
  rules,
});
const rulesOf = (one: Role): string[] =>
  lackingRoles([{ kind: 'Role', role: one }], known).flatMap(({ rules }) => rules);

it.each<[string, Role]>([
  ['without the annotation', role(undefined)],
  ['whose annotation lists nothing that exists', role('{"nothing": ["*"]}')],
  ['whose rules grant all types', role('{"*": ["basic"]}', [use()])],
  [
    'whose rules grant everything',
    role('{"*": ["*"]}', [use({ apiGroups: ['*'], resources: ['*'], verbs: ['*'] })]),
  ],
  ['whose rules grant the type', role('{"*": ["basic"]}', [use({ resourceNames: ['basic'] })])],
  [
    'whose rules grant the kind',
    role('{"mwan3*": ["basic"]}', [use({ resources: ['buckettypes/mwan3rules'] })]),
  ],
])('a role %s lacks nothing', (_, one) => {
  expect(rulesOf(one)).toEqual([]);
});

it('a role without the rule is named, with the rule that it needs', () => {
  expect(lackingRoles([{ kind: 'Role', role: role('{"*": ["basic"]}') }], known)).toEqual([
    {
      role: 'Role edge/editor',
      rules: [
        '- { apiGroups: [permissions.sdewan.akraino.org], resources: [buckettypes], resourceNames: [basic], verbs: [use] }',
      ],
    },
  ]);
});

it.each<[string, Role['rules']]>([
  ['another type', [use({ resourceNames: ['app-intent'] })]],
  ['another kind', [use({ resources: ['buckettypes/firewallzones'] })]],
  ['another verb', [use({ verbs: ['get'] })]],
  ['another group', [use({ apiGroups: ['batch.sdewan.akraino.org'] })]],
  ['another resource', [use({ resources: ['buckets'] })]],
])('a rule for %s is not enough', (_, rules) => {
  expect(rulesOf(role('{"mwan3rules": ["basic"]}', rules))).toEqual([
    '- { apiGroups: [permissions.sdewan.akraino.org], resources: [buckettypes/mwan3rules], resourceNames: [basic], verbs: [use] }',
  ]);
});

it('kinds with other types get other rules', () => {
  const rules = rulesOf(role('{"mwan3rules": ["*"], "firewallzones": ["basic"]}'));
  expect(rules).toEqual([
    expect.stringContaining('[buckettypes/firewallzones], resourceNames: [basic]'),
    expect.stringContaining('[buckettypes/mwan3rules], resourceNames: [basic, app-intent]'),
  ]);
});
