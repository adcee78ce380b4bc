import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bucketIsPermitted, bucketTypeIsKnown } from '../checks/buckets.ts';
import { change, context, facts, zone } from '../testing/changes.ts';
import { grantsOf, type Binding, type RbacObjects, type Role } from './bindings.ts';
import { grantsBucket } from './permission.ts';
import { matchesPattern } from './wildcard.ts';

describe('patterns', () => {
  it.each([
    ['*', '', true],
    ['*', 'anything', true],
    ['app-*', 'app-intent', true],
    ['app-?', 'app-intent', false],
    ['b?sic', 'basic', true],
    ['basic', 'basics', false],
    ['*s', 'mwan3rules', true],
    ['m*3*s', 'mwan3policies', true],
    ['', '', true],
    ['?', '', false],
    ['a.c', 'abc', false],
  ])('%s on %s: %s', (pattern, text, matches) => {
    expect(matchesPattern(pattern, text)).toBe(matches);
  });

  it('match what the equivalent regular expression matches', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 });
    const texts = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 });
    fc.assert(
      fc.property(letters, texts, (pattern, text) => {
        const regex = pattern.replaceAll('*', '.*').replaceAll('?', '.');
        expect(matchesPattern(pattern, text)).toBe(new RegExp(`^${regex}$`).test(text));
      }),
    );
  });

  it('are matched in a time that grows no faster than pattern and text, whatever the pattern', () => {
    const cost = (length: number): number => {
      const before = process.cpuUsage();
      matchesPattern('*a'.repeat(length), 'a'.repeat(length - 1));
      return process.cpuUsage(before).user;
    };
    // Ten times each; a millisecond is what cannot be measured.
    expect(cost(5_000)).toBeLessThan(10 * 10 * 10 * Math.max(cost(500), 1_000));
  });
});

describe('the permission annotation', () => {
  it.each([
    ['{"mwan3rules":["app-intent","k8s-service"]}', 'mwan3rules', 'app-intent', true],
    ['{"mwan3rules":["app-intent"]}', 'mwan3rules', 'basic', false],
    ['{"mwan3rules":["app-intent"]}', 'mwan3policies', 'app-intent', false],
    ['{"*":["*"]}', 'firewallzones', 'basic', true],
    ['{"mwan3*":["b*"]}', 'mwan3rules', 'basic', true],
    ['{"mwan3rules":"app-intent"}', 'mwan3rules', 'app-intent', false],
    ['["*"]', 'mwan3rules', 'basic', false],
    ['not json', 'mwan3rules', 'basic', false],
    ['', 'mwan3rules', 'basic', false],
    ['{"__proto__":["*"]}', 'mwan3rules', 'basic', false],
  ])('%s on %s of type %s: %s', (annotation, plural, type, granted) => {
    expect(grantsBucket(annotation, plural, type)).toBe(granted);
  });
});

describe('the roles of a user', () => {
  const role = (name: string): { role: Role } => ({
    role: { metadata: { name, annotations: { 'sdewan-bucket-type-permission': '{"*":["*"]}' } } },
  });
  const binding = (subject: object, ref: object): { binding: Binding } => ({
    binding: {
      metadata: { name: 'b' },
      roleRef: { kind: 'Role', name: 'r', ...ref },
      subjects: [{ kind: 'User', name: 'anna', ...subject }],
    },
  });
  const rbac = (some: Partial<RbacObjects>): RbacObjects => ({
    roles: [role('r')],
    clusterRoles: [role('cr')],
    roleBindings: [],
    clusterRoleBindings: [],
    ...some,
  });
  const clusterRole = { kind: 'ClusterRole', name: 'cr' };
  const account = 'system:serviceaccount:edge:deployer';

  it.each<[string, { username: string; groups: string[] }, Partial<RbacObjects>, string[]]>([
    [
      'a user by RoleBinding',
      { username: 'anna', groups: [] },
      { roleBindings: [binding({}, {})] },
      ['Role r'],
    ],
    ['another user', { username: 'bert', groups: [] }, { roleBindings: [binding({}, {})] }, []],
    [
      'a group',
      { username: 'x', groups: ['net'] },
      { roleBindings: [binding({ kind: 'Group', name: 'net' }, {})] },
      ['Role r'],
    ],
    [
      'a user whose name is that of a group',
      { username: 'net', groups: [] },
      { roleBindings: [binding({ kind: 'Group', name: 'net' }, {})] },
      [],
    ],
    [
      'a service account',
      { username: account, groups: [] },
      {
        roleBindings: [
          binding({ kind: 'ServiceAccount', name: 'deployer', namespace: 'edge' }, {}),
        ],
      },
      ['Role r'],
    ],
    [
      "a service account of the binding's namespace",
      { username: account, groups: [] },
      { roleBindings: [binding({ kind: 'ServiceAccount', name: 'deployer' }, {})] },
      ['Role r'],
    ],
    [
      'a service account of another namespace',
      { username: account, groups: [] },
      {
        roleBindings: [
          binding({ kind: 'ServiceAccount', name: 'deployer', namespace: 'other' }, {}),
        ],
      },
      [],
    ],
    [
      'a ClusterRole by RoleBinding',
      { username: 'anna', groups: [] },
      { roleBindings: [binding({}, clusterRole)] },
      ['ClusterRole cr'],
    ],
    [
      'a ClusterRole by ClusterRoleBinding',
      { username: 'anna', groups: [] },
      { clusterRoleBindings: [binding({}, clusterRole)] },
      ['ClusterRole cr'],
    ],
    [
      'a group by ClusterRoleBinding',
      { username: 'x', groups: ['net'] },
      { clusterRoleBindings: [binding({ kind: 'Group', name: 'net' }, clusterRole)] },
      ['ClusterRole cr'],
    ],
    [
      'a service account without namespace in a ClusterRoleBinding',
      { username: account, groups: [] },
      { clusterRoleBindings: [binding({ kind: 'ServiceAccount', name: 'deployer' }, clusterRole)] },
      [],
    ],
    [
      'a ClusterRoleBinding to a Role, which does not exist',
      { username: 'anna', groups: [] },
      { clusterRoleBindings: [binding({}, {})] },
      [],
    ],
    [
      'a binding without subjects',
      { username: 'anna', groups: [] },
      { roleBindings: [{ binding: { ...binding({}, {}).binding, subjects: null } }] },
      [],
    ],
  ])('%s', (_, user, some, expected) => {
    expect(grantsOf(user, 'edge', rbac(some)).map((grant) => grant.role)).toEqual(expected);
  });

  it('grant nothing without the annotation', () => {
    const plain = rbac({
      roles: [{ role: { metadata: { name: 'r' } } }],
      roleBindings: [binding({}, {})],
    });
    expect(grantsOf({ username: 'anna', groups: [] }, 'edge', plain)).toEqual([]);
  });
});

describe('bucket permissions', () => {
  const labelled = (type: string | undefined) =>
    zone('lan1', {
      labels: { sdewanPurpose: 'cnf-1', ...(type !== undefined && { 'sdewan-bucket-type': type }) },
    });
  const rules = [
    { verbs: ['use'], apiGroups: ['permissions.sdewan.akraino.org'], resources: ['buckettypes'] },
  ];
  const annotation = '{"firewallzones":["basic"]}';
  const basic = facts({ grants: [{ role: 'Role r', annotation, rules }] });
  const bare = facts({ grants: [{ role: 'Role r', annotation, rules: [] }] });

  it.each<[string, string | undefined, string | undefined, boolean]>([
    ['creating a permitted type', undefined, 'basic', true],
    ['creating another type', undefined, 'app-intent', false],
    ['adding a permitted type', '-', 'basic', true],
    ['adding another type', '-', 'app-intent', false],
    ['changing from one to the other', 'basic', 'app-intent', false],
    ['changing from the other to the permitted one', 'app-intent', 'basic', false],
    ['removing the permitted label', 'basic', '-', true],
    ['removing another label', 'app-intent', '-', false],
    ['deleting a permitted type', 'basic', undefined, true],
    ['deleting another type', 'app-intent', undefined, false],
    ['changing what bears no label', '-', '-', true],
  ])('%s: %s -> %s is %s', (_, from, to, permitted) => {
    const side = (type: string | undefined) =>
      type === undefined ? {} : { object: labelled(type === '-' ? undefined : type) };
    const before = side(from).object;
    const after = side(to).object;
    const asked = change({ ...(before && { before }), ...(after && { after }) });
    const refusal = bucketIsPermitted(asked, basic, context);
    expect(refusal?.reason).toBe(permitted ? undefined : 'BucketForbidden');
  });

  it('name the role that lacks the rule, and the rule', () => {
    const refusal = bucketIsPermitted(change({ after: labelled('basic') }), bare, context);
    expect(refusal?.reason).toBe('BucketForbidden');
    for (const part of ['Role r lists', 'verb use', 'buckettypes/firewallzones', 'name basic'])
      expect(refusal?.message).toContain(part);
  });

  it('are not given by the annotation of one role and the rule of another', () => {
    const two = facts({
      grants: [
        { role: 'Role r', annotation, rules: [] },
        { role: 'Role s', annotation: '{"mwan3rules":["basic"]}', rules },
      ],
    });
    const refusal = bucketIsPermitted(change({ after: labelled('basic') }), two, context);
    expect(refusal?.reason).toBe('BucketForbidden');
  });

  it('do not hold for system:masters', () => {
    const user = { username: 'root', groups: ['system:masters'] };
    const asked = change({ after: labelled('app-intent'), user });
    expect(bucketIsPermitted(asked, facts(), context)).toBeUndefined();
  });

  it('name the user, the type and the annotation', () => {
    const refusal = bucketIsPermitted(change({ after: labelled('app-intent') }), basic, context);
    for (const part of ['"anna"', '"app-intent"', 'firewallzones', 'sdewan-bucket-type-permission'])
      expect(refusal?.message).toContain(part);
  });

  it('refuse types that are not in the list, for every user', () => {
    const user = { username: 'root', groups: ['system:masters'] };
    const unknown = change({ after: labelled('bsaic'), user });
    expect(bucketTypeIsKnown(unknown, facts(), context)?.message).toContain('"app-intent"');
    const kept = change({ before: labelled('bsaic'), after: labelled('bsaic') });
    expect(bucketTypeIsKnown(kept, facts(), context)).toBeUndefined();
    expect(
      bucketTypeIsKnown(change({ before: labelled('bsaic') }), facts(), context),
    ).toBeUndefined();
  });
});
