/**
 * What a kind of rule CR is. One file per kind states all of it; everything else is generic over
 * the registry, so that a new kind is one new file.
 */
import { objectSchema } from '../kube/objects.ts';
import type { Capabilities } from './capabilities.ts';
import type { UciSection } from '../uci/model.ts';
import type { Generation } from './generation.ts';
import type { Column, Resource } from './resource.ts';

/** Among the pods of a CNF. */
export type CnfPlace = {
  /** How near it is to the traffic; 0: it has it. */
  distance: number;
  /** Device -> addresses that the others have on theirs of that name. */
  peers: ReadonlyMap<string, readonly string[]>;
  /** Device -> addresses of its own, as OpenWRT is configured. Absent: not known. */
  own?: ReadonlyMap<string, readonly string[]>;
};

/**
 * What only one rule of a CNF can have. `key`: in words, the same for the same thing, such as
 * `virtual router 51 on net1`.
 */
export type Claim = {
  path: string;
  key: string;
  /** Other CNFs on the same link may not have it either. */
  onLink?: true;
};

/** A use of another CR of the same namespace and purpose. `path`: where, e.g. `spec.policy`. */
export type Reference = { path: string; kind: string; name: string };

/** A use of a network of the CNF pod. */
export type NetworkUse = { path: string; network: string };

/**
 * A use of a network device of the CNF pod: its name, `#default` (that of the default route) or
 * `#<address>` (that which has the address).
 */
export type DeviceUse = { path: string; device: string };

/**
 * Something that this OpenWRT does not have, and without which it would skip our section or not do
 * what the CR asks for.
 */
export type Lack = {
  path: string;
  message: string;
  /** With what it waits for the CR is pending, with others failed. */
  reason:
    | 'WaitingForInterface'
    | 'WaitingForPods'
    | 'UnsupportedByDriver'
    | 'InvalidSpec'
    | 'InvalidSecret';
};

/** Something of which rules of a CNF have one value only. Both in words; `value` may be a hash. */
export type Sharing = { path: string; key: string; value: string; message: string };

/** A section that does not do what it says beside `other`, a section of the same package. */
export type Clash = { section: string; other: string; message: (other: string) => string };

/** A use of a key of a Secret of the same namespace. */
export type SecretUse = { path: string; name: string; key: string };

/** Pods that the coordinator follows for a CR: their addresses go to `POD_ADDRESSES_ANNOTATION`. */
export type PodSelection = {
  /** Undefined: of all. */
  namespace: string | undefined;
  /** As the API server takes it; empty: all pods. */
  labelSelector: string;
};

export type RenderContext = {
  /** The pod's place among those of its CNF. */
  place: CnfPlace;
  /** The CR's own name. */
  crName: string;
  /** The CR's own; those that shape sections are part of its revision. */
  annotations: Readonly<Record<string, string>>;
  /** The CR's name as UCI can hold it: `-` and `.` are `_`. */
  name: string;
  /** The UCI section's name that belongs to this CR: `section.prefix` + name. */
  sectionName: string;
  /** Total: the compiler has checked every `NetworkUse` before it renders. */
  interfaceOf: (network: string) => string;
  /** Total: the compiler has checked every `DeviceUse` before it renders. */
  deviceOf: (device: string) => string;
  /** Total: the compiler has checked every `SecretUse` before. Must only go into sections. */
  secretOf: (name: string, key: string) => string;
  capabilities: Capabilities;
  /** What OpenWRT holds in a package now, sections of ours among them. */
  observed: (packageName: string) => readonly UciSection[];
  /** The UCI form of a CR name in a reference; accepts the mapped form too. */
  uciNameOf: (reference: string) => string;
};

export type IcnSections = {
  /** The name of the section's CR, as ICN's REST finds it; undefined when of another kind. */
  nameOf: (section: UciSection) => string | undefined;
  /** Further sections that were made with it. */
  partsOf?: (section: UciSection, there: readonly UciSection[]) => readonly UciSection[];
  /** Whether only ICN's REST makes such a section. Absent: it cannot be told from others. */
  isOnlyIcns?: (section: UciSection, there: readonly UciSection[]) => boolean;
};

export type UciRendering<Spec> = {
  package: string;
  /** What a rule is where OpenWRT has no such package. Absent: it waits for it. */
  withoutPackage?: 'UnsupportedByDriver';
  /**
   * `prefix`: names are free, ours begin with `sectionPrefix`. Else the name is the identity, and
   * the agent's ledger tells ours from an administrator's; with `stamp` the sections bear a stamp
   * as well, for an agent that has lost its ledger. `ledger`: they can bear none.
   */
  ownership: 'prefix' | 'stamp' | 'ledger';
  sectionPrefix: string;
  /**
   * The name under which a section that is not ours acts as one of this kind: rules may refer to
   * it, and no CR can have that name. Undefined for sections that do not.
   */
  nameOf?: ((section: UciSection) => string | undefined) | undefined;
  /** How to find what ICN's controller made for a CR. Absent where that is in another package. */
  icn?: IcnSections;
  /** What a section is on OpenWRT beside its name, where only one section can be it. */
  identities?: ((section: UciSection) => readonly string[]) | undefined;
  /** Which field makes its sections what this identity or `package.section` says. Default: name. */
  pathOf?: (claim: string, sections: readonly UciSection[]) => string | undefined;
  /** Its sections differ by the pod's place: agents confirm another place only after a pass. */
  usesPlace?: true;
  /**
   * What the service would leave out of it, so that the CR is not written; its author is warned.
   * Asked before `lacks`.
   */
  leftOut?: (spec: Spec, openwrt: Pick<RenderContext, 'capabilities'>) => readonly Lack[];
  /** Asked before rendering; with one lack the CR waits. */
  lacks?: (spec: Spec, context: RenderContext) => readonly Lack[];
  /** Pure and total for a spec that the schema accepted. The same input gives the same sections. */
  render: (spec: Spec, context: RenderContext) => readonly UciSection[];
  /**
   * Sections that several CRs need alike, of whatever kind: the same name always has the same
   * content. They come behind all others of the package, and stay while one CR needs them.
   */
  shared?: (spec: Spec, context: RenderContext) => readonly UciSection[];
  /**
   * Those of all sections of the package, others' too, that do not do what they say, although they
   * are there as written.
   */
  clashes?: (sections: readonly UciSection[], capabilities: Capabilities) => readonly Clash[];
  /** Files that its sections refer to, as `fileSection`s. */
  files?: (spec: Spec, context: RenderContext) => readonly UciSection[];
};

/** A rule is a resource that becomes something on OpenWRT, itself or by rules made of it. */
export type KindDefinition<Spec = unknown> = Resource<Spec> & {
  /**
   * Its specs hold keys: service account `default`, which every pod of a namespace can run as,
   * reads it only where the namespace says so.
   */
  holdsKeys?: true;
  /**
   * Its specs name programs that OpenWRT runs: `local_updown` and `remote_updown` of `connections`,
   * which a policy limits.
   */
  runsPrograms?: true;
  /** Columns of its own, behind the common ones. */
  wideColumns?: readonly Column[];
  references?: (spec: Spec) => readonly Reference[];
  networks?: (spec: Spec) => readonly NetworkUse[];
  /** Names in the spec that are names beside the rule's own on OpenWRT, so none can be that. */
  partNames?: (spec: Spec) => readonly { path: string; name: string }[];
  /** What admission refuses to a second rule, by the spec alone; agents use `identities`. */
  claims?: (spec: Spec) => readonly Claim[];
  /** What admission warns of when another rule of the CNF has another value for the same key. */
  shares?: (spec: Spec) => readonly Sharing[];
  /** What admission warns of and allows; each names the field. */
  nameCautions?: (name: string) => readonly string[];
  cautions?: (spec: Spec) => readonly string[];
  devices?: (spec: Spec) => readonly DeviceUse[];
  secrets?: (spec: Spec) => readonly SecretUse[];
  pods?: (spec: Spec) => PodSelection;
  /** Where its sections go. Absent for kinds that only make other CRs. */
  uci?: UciRendering<Spec> | undefined;
  /** The same for ICN's REST API: objects as sections, collections as packages (`icnResource`). */
  icn?: UciRendering<Spec> | undefined;
  /** The CRs that the coordinator makes of it. */
  generates?: Generation<Spec>;
};

/** Whether a resource is a rule: only rules refer to each other and share names on OpenWRT. */
export const isRule = ({ uci, generates }: KindDefinition): boolean =>
  uci !== undefined || generates !== undefined;

/**
 * A kind as the registry holds it: code that goes over all kinds does not know their specs. Sound
 * because a spec only reaches a kind's functions through that kind's own schema.
 */
export const defineKind = <Spec>(
  definition: Omit<KindDefinition<Spec>, 'schema'>,
): KindDefinition =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  ({ ...definition, schema: objectSchema }) as unknown as KindDefinition;
