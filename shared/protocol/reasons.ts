/**
 * What keeps a rule from being as it is wanted, or what became of it: one sentence for each reason,
 * for statuses, Events, the CLI and docs/status.md. What to do is in
 * coordinator/views/what-to-do.ts. A message adds what is special: the field, the pod, OpenWRT's
 * words. Written so that it can stand behind the name of a pod.
 */

/** Characters of a reason, in a report and in the statuses that have it from there. */
export const MAX_REASON_LENGTH = 63;

/** What agents report of a rule on their OpenWRT. */
export const reasons = {
  Applied: 'OpenWRT has the rule as it is written, read back',
  AppliedInFiles:
    'OpenWRT has the rule in its configuration, read back; the agent cannot see whether the kernel has it',
  Removed: 'OpenWRT has nothing of the rule any more, read back',
  Applying: 'the agent is applying the rule',
  Removing: 'the agent is removing the rule',
  Paused:
    'the pod has annotation sdewan.akraino.org/paused, so its agent changes nothing on OpenWRT',
  InUse: 'other rules refer to the rule, so it stays in force although it is being deleted',
  WaitingForReference:
    'a rule that this one refers to, such as a zone or a policy, does not exist for this purpose or is not in force',
  WaitingForInterface: 'OpenWRT lacks an interface or a setting that the rule needs',
  WaitingForDevice:
    'the CNF pod lacks a network device, an address or a default route that the rule needs',
  WaitingForNetwork:
    'Multus has not yet written which interface of the CNF pod a network is that the rule names',
  WaitingForSecret: 'a key of a Secret does not exist, or the agent may not read it',
  WaitingForPods:
    'the coordinator has not yet written the addresses of the pods that the rule selects',
  WaitingForPackage:
    'OpenWRT does not have the package that the rule configures, or the agent cannot read or write it',
  AdoptionNeedsRights:
    "ICN's controller made the section of the rule, and the agent's login on OpenWRT may not name it; it stays in force as it is",
  ForeignController:
    "another controller, such as ICN's, has replaced the section of the rule; the agent does not touch it for ten minutes",
  InvalidSpec: 'the spec is invalid; pods that had an earlier valid generation keep it in force',
  InvalidSecret:
    'a key of a Secret is not what it must be; pods that had the rule keep it in force as it was',
  UnknownNetwork:
    'the rule names a network that the CNF pod is not attached to, or a name that several of its networks have',
  NameTaken: 'OpenWRT has a section of that name that the agent did not make',
  NameConflict: 'an older rule has the same name on OpenWRT, where - and . become _',
  NameTooLong: 'the name is longer than OpenWRT allows',
  RefusedByOpenwrt: 'OpenWRT refuses or ignores what the rule asks for',
  LostConnectivity:
    'the agent does not reach the API server with the rule, so it is left out until it changes; pods keep in force what they had before',
  NotInForce:
    'OpenWRT has the rule in its configuration, and its kernel lacks a part of it, or the agent cannot tell whether it does',
  TooLarge:
    'the policy is larger than is carried; what was in force of it before stays, or it only isolates its pods',
  SubnetUnknown:
    'no subnet of a network of the CNF is known, so no address of pods in it counts; what was in force of the policy before stays',
  UnsupportedByDriver: 'this OpenWRT or its API does not support what the rule asks for',
  OpenwrtUnreachable: 'OpenWRT does not answer the agent, or refuses its login',
  OpenwrtUnread:
    'OpenWRT has restarted, has changed or does not answer, and the agent has not read since that it has the rule',
} as const satisfies Record<string, string>;

export type Reason = keyof typeof reasons;

/** What the coordinator adds, about all pods together or one of them. */
export const conditionReasons = {
  InSync: 'every live pod of the CNF is ready and has exactly this rule',
  NoPurpose: 'the rule has no label sdewanPurpose, so it belongs to no CNF',
  WaitingForCnf: 'no pod in the namespace of the rule has this purpose',
  PodNotReady: 'the pod is not ready',
  AgentMissing: 'the pod was created without the agent, so no rules are applied to it',
  AgentStarting: 'the agent has not reported yet',
  AgentSilent: 'the agent does not report any more',
  AgentRestarted: 'the agent has restarted and has not reported since',
  NotWatching: 'the agent cannot watch rules of this kind, so it does not know of changes',
  Outdated: 'the pod still has an earlier version of the rule',
  NotConfirmed: 'the agent has not reported that the rule is removed',
  NotResolved: 'a host name has no address, or the DNS server does not answer',
  ChildNotInSync: 'a rule that the coordinator generates from this one is not in sync',
  ChildRefused: 'the API server refuses a rule that the coordinator generates from this one',
  TunnelUp: 'all tunnels that the rule brings up are up',
  TunnelDown: 'a tunnel that the rule brings up is down',
} as const satisfies Record<string, string>;

export type ConditionReason = keyof typeof conditionReasons;

const sentences: ReadonlyMap<string, string> = new Map(
  Object.entries({ ...reasons, ...conditionReasons }),
);

/** An agent that is not ours may have any other. */
export const isKnownReason = (reason: string): boolean => sentences.has(reason);

/**
 * The message where there is nothing special to say. An agent of a later version may have a reason
 * that is not known here.
 */
export const sentenceOf = (reason: Reason | ConditionReason | (string & {})): string =>
  sentences.get(reason) ?? reason;
