/**
 * One rule by itself: what it would put into OpenWRT, or why it cannot. Other rules play no part
 * here; whether its name is free and its references exist is decided later.
 */
import { DEFAULT_DEVICE } from '../resources/device.ts';
import type { CnfPlace, KindDefinition, Reference, RenderContext } from '../resources/kind.ts';
import { partsBeside } from '../resources/parts.ts';
import { kindOf } from '../resources/registry.ts';
import type { RuleObject } from '../kube/objects.ts';
import { UNORDERED_DISTANCE } from '../protocol/report.ts';
import { messageOf } from '../runtime/errors.ts';
import type { UciSection } from '../uci/model.ts';
import { uciName } from '../uci/names.ts';
import { itHas } from '../util/few.ts';
import { checkMetadata, checkSpec } from './check.ts';
import { kindStampedOn, stamped } from './stamp.ts';
import { ledgerKey, ownershipOf } from './ownership.ts';
import type { Problem } from './check.ts';
import { keyOf } from './in-use.ts';
import { withoutInterface } from './networks.ts';
import { revisionOf } from './revision.ts';
import { secretKey } from './types.ts';
import type { CompileInput, LastGood } from './types.ts';

/** A spec of the rule that can be put into force, if its references are. */
export type Rendering = {
  generation: number;
  sections: readonly UciSection[];
  /** Sections that other CRs may need too. */
  shared: readonly UciSection[];
  /** Items of parts beside the packages that they refer to, by part. */
  beside: ReadonlyMap<string, readonly UciSection[]>;
  references: readonly Reference[];
};

export type JudgedProblem = Problem & { verdict: 'pending' | 'failed' };
/** What is on OpenWRT for the CR stays. */
const OF_SECRET: ReadonlySet<string> = new Set(['WaitingForSecret', 'InvalidSecret']);

export type Candidate = {
  rule: RuleObject;
  /** `keyOf` its kind and name. */
  key: string;
  kind: KindDefinition;
  revision: string;
  /** Best first: the CR as it is, then the last good spec. */
  renderings: readonly Rendering[];
  /** Why the CR as it is has no rendering. */
  problem: JudgedProblem | undefined;
  /** Those of the CR as it is and of the last good spec, rendered or not. */
  references: readonly Reference[];
  /**
   * `package.section` of all that the CR would write, its own name even where it cannot be rendered
   * now, and its identities.
   */
  claims: readonly string[];
};

/** A candidate sees no more than single packages of OpenWRT: `candidates.ts` notes which. */
export type CandidateInput = Omit<CompileInput, 'rules' | 'observed'> & {
  observed: Pick<CompileInput['observed'], 'get' | 'has'>;
};

/** Total: a rule that our own code fails at gets a problem, stays as it is, and stops no other. */
export const candidateOf = (
  rule: RuleObject,
  kind: KindDefinition,
  input: CandidateInput,
): Candidate => {
  try {
    return candidate(rule, kind, input);
  } catch (error) {
    const name = sectionNameOf(kind, rule);
    const isOfRule = (section: string): boolean => `${section}_`.startsWith(`${name}_`);
    const generation = rule.metadata.generation ?? 0;
    const renderings = asItIs(kind, input, isOfRule, { generation, references: [] });
    return {
      rule,
      key: keyOf(rule.kind, rule.metadata.name),
      kind,
      revision: revisionOf(rule),
      problem: {
        verdict: 'failed',
        reason: 'NotInForce',
        message: `the agent cannot tell what OpenWRT is to have for the rule: ${messageOf(error)}`,
      },
      renderings,
      references: [],
      claims: renderings.flatMap(({ sections }) =>
        sections.map((section) => ledgerKey(kind.uci?.package ?? '', section.name)),
      ),
    };
  }
};

const candidate = (rule: RuleObject, kind: KindDefinition, input: CandidateInput): Candidate => {
  const revision = revisionOf(rule);
  const { generation = 0 } = rule.metadata;
  const current = attempt({ rule, kind, revision, generation, spec: rule.spec }, input);
  const last = olderOf({ rule, revision }, input);
  const older = last && attempt({ rule, kind, ...last }, input);
  const inMetadata = checkMetadata(kind, rule);
  const problem = inMetadata ? { ...inMetadata, verdict: 'failed' as const } : current.problem;
  const best = inMetadata ? undefined : current.rendering;
  const renderings = [best, older?.rendering].filter((rendering) => rendering !== undefined);
  return {
    rule,
    key: keyOf(rule.kind, rule.metadata.name),
    kind,
    revision,
    problem,
    renderings,
    references: [...current.references, ...(older?.references ?? [])],
    claims: claimsOf(rule, kind, renderings),
  };
};

/** The last good spec, where it is another. */
export const olderOf = (
  { rule, revision }: Pick<Candidate, 'rule' | 'revision'>,
  { lastGood }: Pick<CompileInput, 'lastGood'>,
): ReturnType<LastGood['get']> => {
  const last = lastGood.get(rule.metadata.uid);
  return last?.revision === revision ? undefined : last;
};

const claimsOf = (
  rule: RuleObject,
  kind: KindDefinition,
  renderings: readonly Rendering[],
): readonly string[] => {
  const { uci } = kind;
  if (!uci) return [];
  const sections = renderings.flatMap((rendering) => rendering.sections);
  const names = [sectionNameOf(kind, rule), ...sections.map(({ name }) => name)];
  return [
    ...new Set([
      ...names.map((name) => ledgerKey(uci.package, name)),
      ...sections.flatMap((section) => uci.identities?.(section) ?? []),
    ]),
  ];
};

const sectionNameOf = ({ uci }: KindDefinition, { metadata }: RuleObject): string =>
  `${uci?.sectionPrefix ?? ''}${uciName(metadata.name)}`;

type Version = {
  rule: RuleObject;
  kind: KindDefinition;
  spec: unknown;
  generation: number;
  revision: string;
};

type Attempt = {
  references: readonly Reference[];
  /** With a problem: what of it is on OpenWRT already, and stays. */
  rendering?: Rendering | undefined;
  problem?: JudgedProblem;
};

const attempt = (version: Version, input: CandidateInput): Attempt => {
  const { rule, kind, generation } = version;
  const checked = checkSpec(kind, version.spec);
  if ('problem' in checked) {
    return { references: [], problem: { ...checked.problem, verdict: 'failed' } };
  }
  const { spec } = checked;
  const references = kind.references?.(spec) ?? [];
  const context = contextOf(rule, kind, input);
  const problem: JudgedProblem | undefined =
    unknownToApi(kind) ??
    refusal(version, input) ??
    unknownNetwork(kind, spec, input) ??
    missingDevice(kind, spec, input) ??
    missingSecret(kind, spec, input) ??
    missingPackage(kind, input) ??
    lacking(kind, spec, context);
  if (!problem) {
    return { references, ...rendered(kind, spec, context, { generation, references }) };
  }
  const left = OF_SECRET.has(problem.reason)
    ? withoutKey({ ...version, spec }, context, input, references)
    : [];
  return { references, problem, rendering: left[0] };
};

/**
 * Without its key a rule cannot be rendered anew, and a Secret that cannot be read, or was deleted
 * or overwritten by mistake, must not end a tunnel.
 */
const withoutKey = (
  { kind, spec, generation }: Version,
  context: RenderContext,
  input: CandidateInput,
  references: readonly Reference[],
): readonly Rendering[] => {
  const names = new Set(kind.uci?.render(spec, context).map(({ name }) => name));
  return asItIs(kind, input, (name) => names.has(name), { generation, references });
};

const rendered = (
  { kind, uci }: KindDefinition,
  spec: unknown,
  context: RenderContext,
  of: Pick<Rendering, 'generation' | 'references'>,
): Pick<Attempt, 'rendering' | 'problem'> => {
  const plain = uci?.render(spec, context) ?? [];
  const sections = uci?.ownership === 'stamp' ? plain.map((each) => stamped(each, kind)) : plain;
  const shared = uci?.shared?.(spec, context) ?? [];
  const beside = itemsOf((part) => (uci && part.desired(uci)?.(spec, context)) ?? []);
  const problem = sectionTwice(sections, uci);
  return problem ? { problem } : { rendering: { ...of, sections, shared, beside } };
};

/** Our sections for a rule as OpenWRT has them, with what was made with them; may be empty. */
const asItIs = (
  { kind, uci }: KindDefinition,
  { observed, ledger }: CandidateInput,
  isOfRule: (section: string) => boolean,
  of: Pick<Rendering, 'generation' | 'references'>,
): readonly Rendering[] => {
  if (!uci) return [];
  const isOurs = ownershipOf(uci.package, ledger);
  const ours = (observed.get(uci.package)?.sections ?? []).filter(isOurs);
  const named = new Set(
    ours
      .filter(({ name }) => isOfRule(name))
      .flatMap(({ options }) => Object.values(options).flat()),
  );
  const sections = ours.filter(
    (section) =>
      isOfRule(section.name) || (named.has(section.name) && kindStampedOn(section) === kind),
  );
  if (sections.length === 0) return [];
  const beside = itemsOf(({ name, referredTo }) =>
    referredTo(sections, observed.get(name)?.sections ?? []),
  );
  return [{ ...of, sections, shared: [], beside }];
};

/** Most rules have none. */
const itemsOf = (
  find: (part: (typeof partsBeside)[number]) => readonly UciSection[],
): Rendering['beside'] =>
  new Map(
    partsBeside
      .map((part) => [part.name, find(part)] as const)
      .filter(([, items]) => items.length > 0),
  );

const sectionTwice = (
  sections: readonly UciSection[],
  uci: KindDefinition['uci'],
): JudgedProblem | undefined => {
  const names = new Set<string>();
  for (const { type, name } of sections) {
    if (names.has(name)) {
      const path = uci?.pathOf?.(`${uci.package}.${name}`, sections) ?? 'spec';
      const message = `${path}: two parts of the rule would be the same ${type} ${name} on OpenWRT; choose another name`;
      return { verdict: 'failed', reason: 'InvalidSpec', message };
    }
    names.add(name);
  }
  return undefined;
};

const contextOf = (
  rule: RuleObject,
  kind: KindDefinition,
  { networks, devices, place, secrets, observed, capabilities }: CandidateInput,
): RenderContext => {
  const { metadata } = rule;
  return {
    place: place ?? UNPLACED,
    crName: metadata.name,
    annotations: metadata.annotations ?? {},
    name: uciName(metadata.name),
    sectionName: sectionNameOf(kind, rule),
    interfaceOf: (network) => networks.get(network) ?? '',
    deviceOf: (device) => deviceIn(devices, device) ?? '',
    secretOf: (secret, key) => secrets?.get(secretKey(secret, key)) ?? '',
    capabilities,
    observed: (packageName) => observed.get(packageName)?.sections ?? [],
    uciNameOf: uciName,
  };
};

const UNPLACED: CnfPlace = { distance: UNORDERED_DISTANCE, peers: new Map() };

/** Kinds without a rendering in any dialect only make other CRs. */
const unknownToApi = ({ kind, uci }: KindDefinition): JudgedProblem | undefined =>
  uci === undefined && kindOf(kind)?.uci !== undefined
    ? {
        verdict: 'failed',
        reason: 'UnsupportedByDriver',
        message: `kind: ICN's REST API does not support ${kind}; use driver ubus`,
      }
    : undefined;

const refusal = (
  { rule, revision }: Version,
  { refused }: CandidateInput,
): JudgedProblem | undefined => {
  const refusedAs = refused.get(rule.metadata.uid);
  if (refusedAs?.revision !== revision) return undefined;
  const { verdict = 'failed', reason = 'RefusedByOpenwrt', message } = refusedAs;
  return { verdict, reason, message };
};

const unknownNetwork = (
  kind: KindDefinition,
  spec: unknown,
  input: CandidateInput,
): JudgedProblem | undefined => {
  const { networks } = input;
  const unknown = (kind.networks?.(spec) ?? []).find(({ network }) => !networks.has(network));
  if (!unknown) return undefined;
  const { verdict, reason, words } = whyUnknown(unknown.network, input);
  return { verdict, reason, message: `${unknown.path}: ${words}` };
};

const whyUnknown = (
  network: string,
  { networks, unresolved = new Map(), networkNames = [...networks.keys()] }: CandidateInput,
): Omit<JudgedProblem, 'message'> & { words: string } => {
  const has = itHas(networkNames);
  const meanings = unresolved.get(network) ?? [];
  const ofAttachment = unresolved.get(withoutInterface(network)) ?? [];
  if (meanings.length < 2 && ofAttachment.some((one) => one.interface === undefined))
    return {
      verdict: 'pending',
      reason: 'WaitingForNetwork',
      words: `network-status of the CNF pod does not say yet which interface network ${network} is${has}`,
    };
  const titles = meanings.map(({ title }) => title).join(', ');
  const words = titles
    ? `${network} may be each of these networks of the CNF pod: ${titles}`
    : `the CNF pod has no network ${network}${has}`;
  return { verdict: 'failed', reason: 'UnknownNetwork', words };
};

/** What an administrator has to configure first. */
const missingDevice = (
  kind: KindDefinition,
  spec: unknown,
  { devices }: CandidateInput,
): JudgedProblem | undefined => {
  const missing = (kind.devices?.(spec) ?? []).find(
    ({ device }) => deviceIn(devices, device) === undefined,
  );
  if (!missing) return undefined;
  const { path, device } = missing;
  const what =
    device === DEFAULT_DEVICE ? 'default route' : `device with the address ${device.slice(1)}`;
  return {
    verdict: 'pending',
    reason: 'WaitingForDevice',
    message: `${path}: the CNF pod has no ${what}`,
  };
};

const deviceIn = (devices: CandidateInput['devices'], device: string): string | undefined => {
  if (!device.startsWith('#')) return device;
  return device === DEFAULT_DEVICE
    ? devices?.defaultRoute
    : devices?.byAddress.get(device.slice(1));
};

const missingSecret = (
  kind: KindDefinition,
  spec: unknown,
  { secrets, unreadSecrets }: CandidateInput,
): JudgedProblem | undefined => {
  const missing = (kind.secrets?.(spec) ?? []).find(
    ({ name, key }) => secrets?.has(secretKey(name, key)) !== true,
  );
  if (missing === undefined) return undefined;
  const { path, name, key } = missing;
  const why = {
    absent: `there is no Secret ${name} with key ${key}`,
    forbidden: `the agent has no right to read Secret ${name}`,
    there: `Secret ${name} has no key ${key}`,
  }[unreadSecrets?.get(name) ?? 'there'];
  return { verdict: 'pending', reason: 'WaitingForSecret', message: `${path}: ${why}` };
};

const missingPackage = (
  { uci }: KindDefinition,
  { observed, unusable }: CandidateInput,
): JudgedProblem | undefined => {
  if (uci === undefined || observed.has(uci.package)) return undefined;
  const why = unusable?.get(uci.package);
  if (why !== undefined) return { verdict: 'pending', reason: 'WaitingForPackage', message: why };
  return {
    ...(uci.withoutPackage === undefined
      ? { verdict: 'pending', reason: 'WaitingForPackage' }
      : { verdict: 'failed', reason: uci.withoutPackage }),
    message: `OpenWRT has no /etc/config/${uci.package}; install the package that it belongs to`,
  };
};

const lacking = (
  { uci }: KindDefinition,
  spec: unknown,
  context: RenderContext,
): JudgedProblem | undefined => {
  const [lack = uci?.lacks?.(spec, context)[0]] = uci?.leftOut?.(spec, context) ?? [];
  return (
    lack && {
      verdict: lack.reason.startsWith('Waiting') ? 'pending' : 'failed',
      reason: lack.reason,
      message: `${lack.path}: ${lack.message}`,
    }
  );
};
