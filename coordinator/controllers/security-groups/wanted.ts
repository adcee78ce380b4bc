/**
 * All that is to be in Neutron: the parts of the policies that can be carried, what stays of those
 * that cannot, and groups that let pass what no policy is about. Pure.
 */
import { crowdedText, MAX_GROUP_MEMBERS } from '#shared/policy/bounds.ts';
import { blockOfOne, blockText, parseAddress } from '#shared/policy/address-blocks.ts';
import type { AnyPolicy } from '../network-policy/kept.ts';
import type { Members } from './members.ts';
import {
  baseName,
  clusterTag,
  DIRECTIONS,
  nodesName,
  policyTag,
  type PolicyDirection,
} from './names.ts';
import {
  ownSelectorOf,
  partsOf,
  ruleText,
  type Isolated,
  type PolicyParts,
} from './policy-parts.ts';
import {
  groupsByName,
  lastFormOf,
  presentRuleText,
  type KeptPolicy,
  type PresentInNeutron,
} from './present.ts';
import { quotaProblem, type Quotas } from './quota.ts';
import type { GroupRule, WantedInNeutron, WantedGroup } from './types.ts';

/**
 * Why a policy is not carried. What was last carried of it stays, unless pods of others make it too
 * large.
 */
export type PolicyRefusal = {
  reason: 'QuotaExceeded' | 'TooLarge' | 'InvalidSpec';
  message: string;
};

export type WantedFacts = {
  cluster: string;
  /** Those that were made first come first: they get what is left of a quota. */
  policies: readonly AnyPolicy[];
  members: Members;
  /** Ids of the ports of pods. */
  ports: readonly string[];
  /** Those that had another pod when their groups were set last: nothing of that is kept. */
  passedOn: ReadonlySet<string>;
  /** Addresses of all nodes. */
  nodeAddresses: readonly string[];
  present: PresentInNeutron;
  /** Undefined: not asked yet, and taken for boundless. */
  quotas: Quotas | undefined;
};

export type WantedResult = {
  wanted: WantedInNeutron & {
    /** Names of what stays as it is. */
    untouched: ReadonlySet<string>;
  };
  /** By the policy's uid. */
  refused: ReadonlyMap<string, PolicyRefusal>;
  /** Ports by the uid of a policy that isolates them, also by what is left of it. */
  enforced: ReadonlyMap<string, readonly string[]>;
  /** Texts about policies where a namespace brings more than its share into a selector, by uid. */
  crowded: ReadonlyMap<string, string>;
  /** Whether anything is to be made of which there is a quota. */
  needsQuota: boolean;
  /** Ports keep the groups that they have, whosever those are. */
  nothingFits?: true;
};

const FAMILIES = [
  { ethertype: 'IPv4', family: 4 },
  { ethertype: 'IPv6', family: 6 },
] as const;

export const wantedOf = (facts: WantedFacts): WantedResult => {
  const { cluster, ports, present } = facts;
  const draft = createDraft(facts);
  const base = ports.length === 0 ? undefined : baseOf(cluster, facts.nodeAddresses);
  const baseProblem = base && draft.take(base.groups);
  for (const [name, addresses] of base?.addressGroups ?? [])
    draft.addressGroups.set(name, addresses);
  for (const policy of presentFirst(facts.policies, present)) {
    const parts = partsOf(cluster, policy, facts.members);
    if ('refused' in parts) {
      if (maySelectPorts(policy, facts.members)) draft.refuse(policy.uid, parts);
    } else if (parts.selected.length > 0) takeOrRefuse(draft, { policy, parts, baseProblem });
  }
  return baseProblem === undefined ? draft.result() : nothingFits(present, draft.result());
};

const takeOrRefuse = (
  draft: Draft,
  {
    policy,
    parts,
    baseProblem,
  }: { policy: AnyPolicy; parts: PolicyParts; baseProblem: string | undefined },
): void => {
  const problem = baseProblem ?? draft.take(parts.groups);
  if (problem === undefined) draft.carry(policy.uid, parts);
  else
    draft.refuse(policy.uid, {
      refused: { reason: 'QuotaExceeded', message: problem },
      isolated: parts,
    });
};

/** It is not known of one that cannot be read. */
const maySelectPorts = (policy: AnyPolicy, members: Members): boolean => {
  const pods = ownSelectorOf(policy);
  return pods === undefined || members.of(pods).ports.length > 0;
};

/** `isolated`: whom the policy isolates all the same, so that nothing of others opens a pod. */
type Refused = { refused: PolicyRefusal; isolated?: Isolated; isByOthers?: boolean };

type Draft = {
  addressGroups: Map<string, readonly string[]>;
  /** All of them, or none: then it is what is said of the quota. */
  take: (groups: readonly WantedGroup[]) => string | undefined;
  carry: (uid: string, parts: PolicyParts) => void;
  refuse: (uid: string, refused: Refused) => void;
  result: () => WantedResult;
};

const createDraft = ({ cluster, passedOn, ports, present, quotas }: WantedFacts): Draft => {
  const groups = new Map<string, WantedGroup>();
  const addressGroups: Draft['addressGroups'] = new Map();
  const ofPort = new Map(ports.map((id) => [id, new Set<string>()]));
  const isolated = new Map(ports.map((id) => [id, new Set<PolicyDirection>()]));
  const refused = new Map<string, PolicyRefusal>();
  const enforced = new Map<string, readonly string[]>();
  const crowded = new Map<string, string>();
  const untouched = new Set<string>();
  const kept: (readonly [string, readonly string[]])[] = [];
  const missing = createMissing(present);
  const need = { groups: 0, rules: 0 };

  const take: Draft['take'] = (those) => {
    const fresh = those.filter(({ name }) => !groups.has(name));
    const more = missing(fresh);
    const problem = quotas && quotaProblem(more, quotas, need);
    if (problem !== undefined) return problem;
    need.groups += more.groups;
    need.rules += more.rules;
    for (const group of fresh) groups.set(group.name, group);
    return undefined;
  };

  const keep = (uid: string, last: KeptPolicy): void => {
    for (const name of last.names) untouched.add(name);
    kept.push(...[...last.ports].filter(([port]) => !passedOn.has(port)));
    const isolates = last.isolates.filter(({ port }) => !passedOn.has(port));
    for (const { port, direction } of isolates) isolated.get(port)?.add(direction);
    enforced.set(uid, [...new Set(isolates.map(({ port }) => port))]);
  };

  const isolate = (uid: string, { selected, isolates }: Isolated): void => {
    for (const id of selected) for (const direction of isolates) isolated.get(id)?.add(direction);
    enforced.set(uid, [...new Set([...(enforced.get(uid) ?? []), ...selected])]);
  };

  const withBase = (): void => {
    for (const [id, names] of ofPort) {
      const directions = isolated.get(id);
      for (const direction of DIRECTIONS)
        if (!directions?.has(direction)) names.add(baseName(cluster, direction));
      if (directions?.has('ingress')) names.add(nodesName(cluster));
    }
  };

  return {
    addressGroups,
    take,
    carry: (uid, parts) => {
      for (const [name, addresses] of parts.addressGroups) addressGroups.set(name, addresses);
      for (const [name, ids] of parts.members) for (const id of ids) ofPort.get(id)?.add(name);
      isolate(uid, parts);
      if (parts.brought > MAX_GROUP_MEMBERS) crowded.set(uid, crowdedText(parts.brought));
    },
    refuse: (uid, { refused: refusal, isolated: whom, isByOthers }) => {
      refused.set(uid, refusal);
      const last = isByOthers ? undefined : lastFormOf(present, uid);
      if (last) keep(uid, last);
      if (whom) isolate(uid, whom);
    },
    result: () => {
      withBase();
      // The members of a selector that another policy has, too, are known.
      for (const [port, names] of kept)
        for (const name of names) if (!groups.has(name)) ofPort.get(port)?.add(name);
      return {
        wanted: { groups, addressGroups, ports: ofPort, untouched },
        refused,
        enforced,
        crowded,
        needsQuota: need.groups + need.rules > 0 || refused.size > 0,
      };
    },
  };
};

/** What is there already keeps its room. */
const presentFirst = (policies: readonly AnyPolicy[], present: PresentInNeutron): AnyPolicy[] => {
  const tags = new Set([...present.groups.values()].flatMap((group) => group.tags));
  const isThere = ({ uid }: AnyPolicy): boolean =>
    DIRECTIONS.some((direction) => tags.has(policyTag(uid, direction)));
  return [...policies.filter(isThere), ...policies.filter((one) => !isThere(one))];
};

/** Not even the groups that every port needs: all stays as it is. */
const nothingFits = (
  present: PresentInNeutron,
  rest: Pick<WantedResult, 'refused' | 'enforced' | 'crowded'>,
): WantedResult => {
  const nameOf = (id: string): string[] => {
    const group = present.groups.get(id);
    return group ? [group.name] : [];
  };
  const ports = [...present.ports.values()].map(
    ({ id, security_groups: of }) => [id, new Set(of.flatMap(nameOf))] as const,
  );
  const names = [...present.groups.values(), ...present.addressGroups.values()].map(
    ({ name }) => name,
  );
  const wanted = { groups: new Map(), addressGroups: new Map(), ports: new Map(ports) };
  return {
    ...rest,
    wanted: { ...wanted, untouched: new Set(names) },
    needsQuota: true,
    nothingFits: true,
  };
};

/** Anybody may enter, anybody may be reached, and nodes: probes of the kubelet come from theirs. */
const baseOf = (
  cluster: string,
  nodeAddresses: readonly string[],
): { groups: WantedGroup[]; addressGroups: Map<string, readonly string[]> } => {
  const tags = [clusterTag(cluster)];
  const nodes = nodeAddresses.flatMap((text) => parseAddress(text) ?? []);
  const name = nodesName(cluster);
  const open = DIRECTIONS.map((direction) => ({
    name: baseName(cluster, direction),
    tags,
    description: `No NetworkPolicy is about ${direction}`,
    rules: FAMILIES.map(({ ethertype }): GroupRule => ({ direction, ethertype })),
  }));
  const ofNodes: WantedGroup = {
    name,
    tags,
    description: 'Nodes may reach the pods on them',
    rules: FAMILIES.filter(({ family }) => nodes.some((one) => one.family === family)).map(
      ({ ethertype }): GroupRule => ({
        direction: 'ingress',
        ethertype,
        remote: { addresses: name },
      }),
    ),
  };
  const blocks = new Set(nodes.map((one) => blockText(blockOfOne(one))));
  return { groups: [...open, ofNodes], addressGroups: new Map([[name, [...blocks].sort()]]) };
};

/** What has to be made so that these are there. */
const createMissing = (
  present: PresentInNeutron,
): ((groups: readonly WantedGroup[]) => {
  groups: number;
  rules: number;
}) => {
  const there = groupsByName(present);
  const nameOf = (id: string): string | undefined =>
    present.groups.get(id)?.name ?? present.addressGroups.get(id)?.name;
  return (groups) => {
    const missing = groups.map(({ name, rules }) => {
      const group = there.get(name)?.[0];
      const has = new Set(group?.security_group_rules.map((rule) => presentRuleText(rule, nameOf)));
      return {
        isMissing: group === undefined,
        rules: rules.filter((one) => !has.has(ruleText(one))),
      };
    });
    return {
      groups: missing.filter(({ isMissing }) => isMissing).length,
      rules: missing.reduce((sum, { rules }) => sum + rules.length, 0),
    };
  };
};
