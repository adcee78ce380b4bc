/** Why a rule is in the state it is in, once for logs, conditions, Events and metrics. */
export const reasons = {
  Applied: 'On OpenWRT as the CR says, read back.',
  Removed: 'Gone from OpenWRT, read back.',
  Applying: 'Seen, not yet on OpenWRT.',
  Removing: 'Being deleted, not yet gone from OpenWRT.',
  InUse: 'Being deleted, but kept because rules that stay refer to it.',
  WaitingForReference: 'Refers to a CR that does not exist (yet) for this purpose.',
  WaitingForInterface: 'Needs an interface that OpenWRT does not have (yet).',
  WaitingForDevice:
    'Needs a device, an address or a default route that the CNF pod does not have (yet).',
  WaitingForSecret:
    'Needs a key of a Secret that does not exist (yet), or that the agent may not read.',
  WaitingForPods: 'Follows pods, and the coordinator has not said yet which there are.',
  WaitingForPackage: 'OpenWRT lacks the configuration package that the rule belongs to.',
  InvalidSpec: 'The spec breaks a rule of its kind; a last good generation may be in force.',
  UnknownNetwork: 'Names a network that the CNF pod is not attached to.',
  NameTaken: 'OpenWRT has a section of that name that is not ours.',
  NameConflict: 'Another CR has the same name as OpenWRT can hold it.',
  NameTooLong: 'OpenWRT cannot hold a name that long.',
  RefusedByOpenwrt: 'OpenWRT read the section and left it out or refused it.',
  UnsupportedByDriver: 'The API of this OpenWRT cannot hold what the CR asks.',
  OpenwrtUnreachable: 'OpenWRT does not answer.',
} as const satisfies Record<string, string>;

export type Reason = keyof typeof reasons;
