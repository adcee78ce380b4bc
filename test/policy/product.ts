/** The product's table for a world of the tests. */
import { compilePolicy } from '#shared/policy/enforcement.ts';
import { membersOf, type Group, type PolicyPod } from '#shared/policy/groups.ts';
import { networkPolicySpecSchema } from '#shared/policy/network-policy.ts';
import { policyTable, type PolicyTable, type TableEntry } from '#shared/policy/table.ts';
import type { World } from './evaluator.ts';

export const tableOf = ({ namespaces, pods, policies }: World): PolicyTable => {
  const groups = new Map<string, Group>();
  const entries = policies.map(({ namespace, name, spec }, at): TableEntry => {
    const compiled = compilePolicy({
      namespace,
      spec: networkPolicySpecSchema.parse(spec),
    });
    if (!('enforcement' in compiled)) throw new Error(JSON.stringify(compiled));
    for (const [id, group] of compiled.groups) groups.set(id, group);
    return { id: `p${at}`, title: `${namespace}/${name}`, enforcement: compiled.enforcement };
  });
  const all = pods.map((pod): PolicyPod => ({
    namespace: pod.namespace,
    name: pod.name,
    uid: `${pod.namespace}/${pod.name}`,
    labels: pod.labels,
    creationTimestamp: '2026-01-01T00:00:00Z',
    addresses: pod.addresses,
    ports: pod.ports.map(({ name, protocol, port }) => ({
      name,
      protocol: protocol === 'UDP' || protocol === 'SCTP' ? protocol : 'TCP',
      port,
    })),
    isHostNetwork: pod.hostNetwork === true,
    isFinished: pod.finished === true,
  }));
  return policyTable(entries, (id) => {
    const group = groups.get(id);
    return group ? membersOf(group, all, (name) => namespaces[name] ?? {}) : [];
  });
};
