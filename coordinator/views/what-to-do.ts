/**
 * What to do about each reason. The third columns of docs/status.md are made of it, so links are as
 * Markdown has them there.
 */
import type { ConditionReason, Reason } from '#shared/protocol/reasons.ts';
import { own } from '#shared/util/own.ts';
import { docsOf, topicOf } from './docs-topics.ts';

/** Rules with these have no problem, or are gone. */
export const FINE = [
  'Applied',
  'Removed',
  'InSync',
  'AppliedInFiles',
  'TunnelUp',
  'TunnelDown',
] as const;
type Fine = (typeof FINE)[number];
type Cured = Exclude<Reason | ConditionReason, Fine>;
/** Only while a rule is being deleted. */
type OfDeletion = 'Removing' | 'NotConfirmed' | 'InUse' | 'AgentRestarted';

/** What to do about a rule that is not in sync. */
export const cures: Readonly<Record<Exclude<Cured, OfDeletion>, string>> = {
  NoPurpose: 'Add the label.',
  WaitingForCnf:
    'Deploy the CNF, or correct the label of the rule. You may create rules before their CNF.',
  PodNotReady:
    'What is wrong with the pod stands in `sdewan status` and in CNFStatus; `kubectl describe pod` has more.',
  AgentMissing: 'Re-create the pod. The coordinator then injects the agent.',
  AgentStarting:
    'Wait some seconds. If it remains, see [An agent does not report](#an-agent-does-not-report).',
  AgentSilent: 'See [An agent does not report](#an-agent-does-not-report).',
  Outdated: "Wait some seconds. If it remains, look at the agent's log.",
  NotWatching:
    "IPsec rules, where the message names service account `default`: set `serviceAccountName` in the pod template of the CNF, or let [every pod of the namespace read the keys](security.md#rights) and re-create the pods. Else check that the RoleBinding `sdewan-agent` grants the CNF's service account the ClusterRole of that name, and that the CRD is installed.",
  Applying: 'Wait some seconds.',
  Paused:
    'When you have finished: `kubectl annotate pod <pod> sdewan.akraino.org/paused-`. The agent then repairs the rule at once.',
  WaitingForReference: 'Create that rule. The order in which you create rules does not matter.',
  WaitingForInterface:
    'Create the interface on OpenWRT or change the setting, or correct the rule.',
  WaitingForNetwork:
    'Wait a minute. If it remains, see whether Multus writes the pod annotation `k8s.v1.cni.cncf.io/network-status`, or add the interface to the selection in `k8s.v1.cni.cncf.io/networks`.',
  WaitingForDevice: 'Create the device, the address or the route, or correct the rule.',
  WaitingForSecret:
    'Create the Secret, or grant the right to read it: [keys from a Secret](drivers.md#keys-from-a-secret).',
  WaitingForPods: "Wait some seconds. If it remains, look at the coordinator's log.",
  WaitingForPackage: "Install the package in the CNF's image, or correct what the message says.",
  AdoptionNeedsRights:
    'Grant the login the rights: [migration](migration.md#how-a-section-gets-its-name).',
  ForeignController:
    'Stop the other controller: [migration](migration.md#when-icns-controller-still-writes).',
  NotResolved:
    'Correct the name, or check the DNS. The rules of its last addresses stay, and the coordinator tries again.',
  ChildNotInSync: 'The message names that rule. Look at its status.',
  ChildRefused: "The message has the API server's words. Correct the spec, or what refuses it.",
  InvalidSpec: 'The message names the field. Correct the spec.',
  InvalidSecret: 'Correct the Secret: the message says what its key must be.',
  UnknownNetwork:
    "The message lists the pod's networks. Correct the name, or the pod annotation `k8s.plugin.opnfv.org/nfn-network` or `k8s.v1.cni.cncf.io/networks`. Of several with one name write `namespace/name`, or `name@interface` of an attachment that the pod has twice.",
  NameTaken:
    "Rename the rule, or remove that section from OpenWRT. If the message says that the agent has lost its ledger, replacing the pod will do, too. If ICN's controller made it, see [migration](migration.md#what-adoption-does).",
  NameConflict: 'Rename the younger rule. The older one is applied.',
  NameTooLong: 'Rename the rule.',
  RefusedByOpenwrt: "The message has OpenWRT's words. Correct the spec.",
  LostConnectivity:
    'The message says what was lost. Change the rule, or delete and create it to have it tried again as it is: [commit-confirm](commit-confirm.md).',
  NotInForce:
    'The message names the part. Correct a gateway that no interface of the CNF reaches; end what takes rules out of the kernel. The agent repairs it, and tries again at growing intervals of up to five minutes.',
  TooLarge:
    'The message has both numbers. Split the policy, or select pods by fewer or narrower selectors.',
  SubnetUnknown:
    "Say the subnet in annotation `sdewan.akraino.org/policy-networks` of the CNF's pods, as the message shows.",
  UnsupportedByDriver:
    'Remove the field. Where the message is about ICN or firewall3, an image with firewall4 that answers over ubus may take it.',
  OpenwrtUnreachable: "Look at the CNF's container and at the agent's log.",
  OpenwrtUnread:
    "Wait some seconds. If it remains, look at the CNF's container and at the agent's log.",
};

/** Where what to do about a reason depends on the kind. */
const curesOfKinds: Readonly<Record<string, Partial<Record<Cured, string>>>> = {
  VirtualAddress: {
    UnsupportedByDriver:
      'Do what the message says of keepalived, in an image that answers over ubus.',
  },
  PolicyEnforcement: {
    UnsupportedByDriver:
      'Use an image with nft that answers over ubus and lets the agent load a table: [what is not enforced](policies.md#what-is-not-enforced).',
  },
};

/** For docs/status.md: of all kinds. */
export const cureInDocs = (reason: string, general: string): string =>
  [
    general,
    ...Object.entries(curesOfKinds).flatMap(([kind, of]) => {
      const special = own<string>(of, reason);
      return special === undefined ? [] : [`${kind}: ${special}`];
    }),
  ].join(' ');

/** What to do about a rule that is being deleted. */
export const removalCures: Readonly<Record<OfDeletion, string> & Partial<Record<Cured, string>>> = {
  Removing: 'Wait some seconds.',
  NotConfirmed:
    'Wait some seconds. If it remains, see [An agent does not report](#an-agent-does-not-report).',
  Paused: 'Remove the annotation from the pod; the agent then removes the rule.',
  InUse: 'Delete or change the rules that use it. The deletion then completes.',
  AgentSilent: 'Repair the pod, or delete it.',
  AgentStarting: 'Wait some seconds. If it remains, repair the pod, or delete it.',
  AgentRestarted: 'Wait some seconds. If it remains, repair the pod, or delete it.',
  OpenwrtUnreachable: 'Repair the pod, or delete it.',
  NotWatching:
    'Grant the agent the right to watch this kind again; where the message names service account `default`, re-create the pod with another one.',
};

/** For a terminal; undefined for a reason of another version. */
export const cureOf = (
  reason: string,
  { kind, isBeingDeleted = false }: { kind: string; isBeingDeleted?: boolean },
): string | undefined => {
  const ofKind = own(curesOfKinds, kind);
  const cure =
    (isBeingDeleted ? own<string>(removalCures, reason) : undefined) ??
    (ofKind && own<string>(ofKind, reason)) ??
    own(cures, reason);
  return cure === undefined ? undefined : withoutLinks(cure);
};

const LINK = /\[([^\]]+)\]\(([^)]*)\)/g;

const withoutLinks = (text: string): string =>
  text.replaceAll(
    LINK,
    (_, words: string, target: string) => `${words} (${docsOf(topicOf(target))})`,
  );
