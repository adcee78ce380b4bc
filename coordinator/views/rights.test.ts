import { expect, it } from 'vitest';
import { rightsOf } from './rights.ts';

const list = (resource: string, namespace?: string) => ({
  verb: 'list' as const,
  resource,
  namespace,
});

it('tells each lacking right with the role that has it, where one does', () => {
  expect(
    rightsOf([
      list('firewallrules.batch.sdewan.akraino.org', 'edge'),
      list('ipsecsites.batch.sdewan.akraino.org', 'edge'),
      list('cnfstatuses.batch.sdewan.akraino.org', 'edge'),
      list('pods'),
      list('networkpolicies.networking.k8s.io'),
      list('addressgroups.network.sdewan.akraino.org'),
      { verb: 'create', resource: 'pods/portforward', namespace: 'edge' },
    ]),
  ).toEqual([
    'you may not create pods/portforward in namespace edge (ClusterRole sdewan-debug may)',
    'you may not list addressgroups.network.sdewan.akraino.org in all namespaces (ClusterRole sdewan-debug may)',
    'you may not list cnfstatuses.batch.sdewan.akraino.org, firewallrules.batch.sdewan.akraino.org in namespace edge (ClusterRole sdewan-viewer may)',
    'you may not list ipsecsites.batch.sdewan.akraino.org in namespace edge',
    'you may not list networkpolicies.networking.k8s.io, pods in all namespaces (ClusterRole view may)',
  ]);
  expect(rightsOf([])).toEqual([]);
});
