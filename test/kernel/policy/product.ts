/** A scenario of the tests as the product sees it, and its table. */
import { decide, passes, type PolicyPacket } from '#shared/policy/decide.ts';
import { compilePolicy } from '#shared/policy/enforcement.ts';
import type { Group, PolicyPod } from '#shared/policy/group-members.ts';
import { membersOf } from '#shared/policy/testing.ts';
import { networkPolicySpecSchema, type Policy } from '#shared/policy/network-policy.ts';
import { policyTable, type PolicyTable, type TableEntry } from '#shared/policy/nft-table.ts';
import type { Scenario } from './evaluator.ts';

export const policiesOf = ({ policies }: Scenario): Policy[] =>
  policies.map(({ namespace, name, spec }, at) => ({
    kind: 'NetworkPolicy',
    networks: [],
    namespace,
    name,
    uid: `uid-${at}`,
    generation: 1,
    spec: networkPolicySpecSchema.parse(spec),
  }));

/** Their uids are `namespace/name`. */
export const podsOf = ({ pods }: Scenario): PolicyPod[] =>
  pods.map((pod): PolicyPod => ({
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

export const tableOf = (scenario: Scenario): PolicyTable => {
  const { entries, members } = compiled(scenario);
  return policyTable(entries, members);
};

/** What `sdewan trace` says of a packet. */
export const judgeOf = (scenario: Scenario): ((packet: PolicyPacket) => boolean) => {
  const { entries, members } = compiled(scenario);
  const place = {
    entries: entries.map(({ title, enforcement }) => ({ of: title, enforcement })),
    members: (id: string) => new Set(members(id)),
  };
  return (packet) => decide(packet, place).every(passes);
};

const compiled = (scenario: Scenario) => {
  const groups = new Map<string, Group>();
  const entries = policiesOf(scenario).map((policy, at): TableEntry => {
    const one = compilePolicy(policy);
    if (!('enforcement' in one)) throw new Error(JSON.stringify(one));
    for (const [id, group] of one.groups) groups.set(id, group);
    const title = `${policy.namespace}/${policy.name}`;
    return { id: `p${at}`, title, enforcement: one.enforcement };
  });
  const all = podsOf(scenario);
  const members = (id: string): readonly string[] => {
    const group = groups.get(id);
    return group ? membersOf(group, all, (name) => scenario.namespaces[name] ?? {}) : [];
  };
  return { entries, members };
};
