import { expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import { ruleOf } from '#shared/compile/testing.ts';
import { programsItem, secondCnfsItem, selectionsItem, type ServingWorkload } from './refused.ts';

const workload = (name: string, some: Partial<ServingWorkload> = {}): ServingWorkload => ({
  kind: 'Deployment',
  namespace: 'default',
  name,
  uid: name,
  purpose: 'cnf-1',
  templatePurpose: 'cnf-1',
  controller: undefined,
  deleting: false,
  ...some,
});
const controller = { apiVersion: 'batch/v1', kind: 'X', name: 'x', uid: 'x' };
const application = (appNamespace?: string) =>
  ruleOf('SdewanApplication', 'app', { ...(appNamespace !== undefined && { appNamespace }) });
const site = (connection: object) => ruleOf('IpsecSite', 'site', { connections: [connection] });

type Stored = {
  rules: RuleObject[];
  workloads: ServingWorkload[];
  accepts: Map<string, string[]>;
  programs: string[] | undefined;
};
const items = (some: Partial<Stored>) => {
  const { rules, workloads, accepts, programs }: Stored = {
    rules: [],
    workloads: [],
    accepts: new Map(),
    programs: ['/etc/updown'],
    ...some,
  };
  return [secondCnfsItem(workloads), selectionsItem(rules, accepts), programsItem(rules, programs)];
};

it.each<[string, Partial<Stored>]>([
  ['nothing', {}],
  ['one workload', { workloads: [workload('a')] }],
  [
    'a workload in each of two namespaces',
    { workloads: [workload('a'), workload('b', { namespace: 'other' })] },
  ],
  [
    'two workloads of one controller',
    { workloads: [workload('a', { controller }), workload('b', { controller })] },
  ],
  ['one that goes', { workloads: [workload('a'), workload('b', { deleting: true })] }],
  ['pods of the own namespace', { rules: [application('default')] }],
  ['pods of any namespace', { rules: [application()] }],
  [
    'pods of a namespace that accepts it',
    { rules: [application('apps')], accepts: new Map([['apps', ['x', 'default']]]) },
  ],
  ['a program that is listed', { rules: [site({ local_updown: '/etc/updown' })] }],
  ['connections without programs', { rules: [site({})], programs: undefined }],
  ['a spec that is none', { rules: [ruleOf('IpsecSite', 'site', 'x')] }],
])('nothing of it is refused: %s', (_, some) => {
  expect(items(some).map(({ state }) => state)).toEqual(['Good', 'Good', 'Good']);
});

it.each<[string, Partial<Stored>, number, 'Bad' | 'Unknown', string]>([
  [
    'a second workload',
    { workloads: [workload('a'), workload('b', { kind: 'DaemonSet' })] },
    0,
    'Bad',
    'default/cnf-1 has Deployment a, DaemonSet b',
  ],
  [
    'a second workload whose pods alone have the label',
    { workloads: [workload('a'), workload('b', { purpose: undefined })] },
    0,
    'Bad',
    'Deployment b',
  ],
  [
    'pods of a namespace that accepts others',
    { rules: [application('apps')], accepts: new Map([['apps', ['x']]]) },
    1,
    'Bad',
    'SdewanApplication default/app selects pods of apps',
  ],
  [
    'a program that is not listed',
    { rules: [site({ remote_updown: '/bin/x' })] },
    2,
    'Bad',
    'IpsecSite default/site names /bin/x',
  ],
  [
    'a program before there is a list',
    { rules: [site({ local_updown: '/etc/updown' })], programs: undefined },
    2,
    'Unknown',
    '/etc/updown',
  ],
])('is named: %s', (_, some, at, state, words) => {
  const found = items(some);
  expect(found.map((item) => item.state)).toEqual(
    found.map((_item, index) => (index === at ? state : 'Good')),
  );
  expect(found[at]?.what).toContain(words);
  expect(found[at]?.cure).toMatch(/\w/);
});
