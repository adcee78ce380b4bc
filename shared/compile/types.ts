/** The compiler's input and output. Pure data: the loop feeds it, driver and reporter use it. */
import type { Capabilities } from '../resources/capabilities.ts';
import type { CnfPlace } from '../resources/kind.ts';
import type { RuleObject } from '../kube/objects.ts';
import type { Reason } from '../protocol/reasons.ts';
import type { UciPackage, UciSection } from '../uci/model.ts';

/** Name of a network of the pod -> interface name in OpenWRT. */
export type NetworkTable = ReadonlyMap<string, string>;

/** `title`: for people. `interface`: undefined while it is not known. */
export type NetworkMeaning = { title: string; interface: string | undefined };

export type PodNetworks = {
  networks: NetworkTable;
  /**
   * Other names that the pod has -> what each may mean: an attachment whose interface is not known
   * yet, or several networks.
   */
  unresolved?: ReadonlyMap<string, readonly NetworkMeaning[]> | undefined;
  /** For people: each network once. Absent: those of `networks`. */
  networkNames?: readonly string[] | undefined;
};

/** The network devices of the pod, as far as rules name them by what they are for. */
export type DeviceTable = {
  /** Device of the default route; undefined while there is none. */
  defaultRoute: string | undefined;
  /** Address, as the kernel writes it -> device that has it. */
  byAddress: ReadonlyMap<string, string>;
};

/**
 * The last spec of a CR that compiled and is on this OpenWRT; by uid. Kept in force while a newer
 * generation is invalid.
 */
export type LastGood = ReadonlyMap<string, { spec: unknown; generation: number; revision: string }>;

/** By name: why nothing of a Secret is known. Absent: the Secret is there. */
export type UnreadSecrets = ReadonlyMap<string, 'absent' | 'forbidden'>;

export const secretKey = (name: string, key: string): string => `${name}/${key}`;

/** `reason`: RefusedByOpenwrt when absent; `verdict`: failed. */
export type LeftOut = {
  revision: string;
  message: string;
  reason?: Reason;
  verdict?: 'pending' | 'failed';
};

export type CompileInput = PodNetworks & {
  /** Every rule CR of this purpose and namespace, those being deleted included, in any order. */
  rules: readonly RuleObject[];
  /** Absent: nothing is known of the devices, and rules that need to know wait. */
  devices?: DeviceTable | undefined;
  /** Absent: as a pod to which no coordinator has given one. */
  place?: CnfPlace | undefined;
  /** By `secretKey(name, key)`: values of the Secrets that rules name. Absent: such rules wait. */
  secrets?: ReadonlyMap<string, string> | undefined;
  unreadSecrets?: UnreadSecrets | undefined;
  /** What the OpenWRT can do that the rules are for. */
  capabilities: Capabilities;
  lastGood: LastGood;
  /**
   * What OpenWRT holds now: for sections of others with a name we want, and interfaces that we
   * need.
   */
  observed: ReadonlyMap<string, UciPackage>;
  /** Packages that cannot be read, and why: whether OpenWRT has them is not known. */
  unusable?: ReadonlyMap<string, string> | undefined;
  /** `package.section` of everything that the ledger says is ours. */
  ledger: ReadonlySet<string>;
  /** By uid: rules that OpenWRT refused as a set, or that are left out, until they change. */
  refused: ReadonlyMap<string, LeftOut>;
  /** By uid: rules of which nothing is touched, whatever OpenWRT has for them, and why. */
  withheld?: ReadonlyMap<string, { reason: Reason; message: string }> | undefined;
};

/** What a rule came to, before anything is written. */
export type Verdict = {
  rule: RuleObject;
  /** `revisionOf(rule)`: of the CR as it is now, whatever generation is in force. */
  revision: string;
  /** The generation whose spec is rendered; not the CR's own when an invalid newer one waits. */
  generationInForce: number | undefined;
  /**
   * `wanted`: its sections are among the desired ones. `unwanted`: being deleted, and nothing needs
   * it. `pending`, `failed`: why not (all) of it is desired; a last good spec may be. A CR that is
   * being deleted and is kept because others need it is `pending` with reason `InUse`, its sections
   * among the desired ones.
   */
  verdict: 'wanted' | 'unwanted' | 'pending' | 'failed';
  reason: Reason;
  /** For the operator; empty for `wanted` and `unwanted`. At most `MAX_MESSAGE_LENGTH` long. */
  message: string;
  /** What was in force before, if known, while it is replaced: OpenWRT may have it until then. */
  earlier?: { generation: number; package: string; sections: readonly UciSection[] } | undefined;
  /** Why a rule that is `wanted` does not do what it says once it is in force. */
  clash?: string | undefined;
  /** Names of its sections in the desired packages. */
  sections: readonly { package: string; name: string }[];
  /**
   * For a rule that is `unwanted`: `package.section` that bears its name, is not ours, and is of a
   * kind whose names do not tell.
   */
  namesake?: string | undefined;
};

export type CompileResult = {
  /**
   * Our sections per package, in the order in which they belong. Packages of all kinds of the
   * registry, empty ones too, and the parts beside them that the dialect has.
   */
  desired: ReadonlyMap<string, readonly UciSection[]>;
  /** One per rule given, same order as the input. */
  verdicts: readonly Verdict[];
};
