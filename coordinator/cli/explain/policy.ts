/**
 * `sdewan explain` of a policy as a value and as text: where it is enforced, for which pods, and
 * for which not and why. Pure.
 */
import * as z from 'zod';
import { PURPOSE_LABEL } from '#shared/names.ts';
import { compilePolicy } from '#shared/policy/enforcement.ts';
import {
  addressesOf,
  holdersIn,
  isHeldBy,
  addressOf,
  type Group,
  type PolicyPod,
} from '#shared/policy/group-members.ts';
import { selectorText } from '#shared/kube/selector.ts';
import { POLICY_KINDS } from '#shared/policy/network-policy.ts';
import type { AddressGroup } from '#shared/resources/other-kinds/address-group.ts';
import { writtenOf } from '#shared/resources/enforcement-lines.ts';
import {
  policyEnforcementResource,
  type PolicyEnforcement,
} from '#shared/resources/other-kinds/policy-enforcement.ts';
import { own } from '#shared/util/own.ts';
import { NOT_ENFORCED } from '../../controllers/network-policy/not-enforced.ts';
import type { AnyPolicy } from '../../controllers/network-policy/kept.ts';
import { cureOf } from '../../views/what-to-do.ts';
import { docsOf } from '../../views/docs-topics.ts';
import { API_VERSION, headOf } from '../../views/output/format.ts';
import { printable, table, tableOrNone, titled } from '../../views/output/table.ts';
import { placeFields } from '../policies/place.ts';
import { eventSchema, eventsTable, type SeenEvent } from '../../views/explanation.ts';

const groupSchema = z.object({
  pods: z.string().describe('The selector, in words.'),
  members: z.int().describe('Addresses; with a named port, addresses with its number.'),
  examples: z.array(z.string()),
});

const placeSchema = z.object({
  ...placeFields,
  object: z.string().describe('The PolicyEnforcement.'),
  inSync: z.boolean().describe('Each pod of the CNF has the policy as it is now.'),
  reason: z.string(),
  message: z.string().optional(),
  cure: z.string().optional().describe('What to do, where it is not in sync.'),
  pods: z
    .object({ selected: z.int(), enforced: z.int() })
    .optional()
    .describe('Absent: not known yet.'),
  notEnforced: z.array(
    z.object({
      reason: z.string(),
      pods: z.int(),
      examples: z.array(z.string()),
      why: z.string().optional(),
    }),
  ),
  scope: z.string().optional().describe('Which packets are meant.'),
  groups: z
    .array(groupSchema)
    .optional()
    .describe('Absent where they may not be seen, or are of an earlier generation.'),
});

export const policyExplanationSchema = z.object({
  ...headOf('PolicyExplanation'),
  policy: z.object({
    kind: z.enum(POLICY_KINDS),
    namespace: z.string(),
    name: z.string(),
    uid: z.string(),
    generation: z.int(),
  }),
  isolates: z.array(z.enum(['ingress', 'egress'])),
  letsPass: z.array(
    z.object({
      direction: z.enum(['ingress', 'egress']),
      peer: z.string(),
      ports: z.string(),
    }),
  ),
  enforced: z.boolean().describe('Somewhere, and in sync wherever it is.'),
  places: z.array(placeSchema),
  events: z
    .array(eventSchema)
    .describe('What has happened so far, as long as Kubernetes keeps it.'),
  notes: z.array(z.string()),
});
export type PolicyExplanation = z.infer<typeof policyExplanationSchema>;
type Place = z.infer<typeof placeSchema>;

export type ExplainedPolicy = {
  policy: AnyPolicy;
  /** Those of this policy. */
  enforcements: readonly PolicyEnforcement[];
  /** Undefined where they may not be seen. */
  groups: readonly AddressGroup[] | undefined;
  /** For names; undefined where they may not be seen. */
  pods: readonly PolicyPod[] | undefined;
  events: readonly SeenEvent[];
};

export const policyExplanationOf = (facts: ExplainedPolicy): PolicyExplanation => {
  const { policy, enforcements, events } = facts;
  const { kind, namespace, name, uid, generation } = policy;
  const meant = meantBy(policy);
  const names = namesIn(facts.pods ?? []);
  const places = enforcements
    .map((one) => placeOf(one, { ...facts, meant, names }))
    .sort((a, b) => (`${a.namespace}/${a.cnf}` < `${b.namespace}/${b.cnf}` ? -1 : 1));
  return {
    apiVersion: API_VERSION,
    kind: 'PolicyExplanation',
    policy: { kind, namespace, name, uid, generation },
    isolates: meant?.written.isolates ?? [],
    letsPass: meant?.letsPass ?? [],
    enforced: places.length > 0 && places.every(({ inSync }) => inSync),
    places,
    events: [...events],
    notes: [
      ...('unread' in policy ? [`it cannot be carried: ${policy.unread.message}`] : []),
      ...(places.length === 0 ? [nowhere(policy)] : []),
    ],
  };
};

const nowhere = ({ kind, networks }: AnyPolicy): string => {
  const named = kind === 'NetworkPolicy' ? 'cluster' : networks.join(' or ') || 'a network of it';
  return `no CNF enforces it: none names ${named} in annotation sdewan.akraino.org/policy-networks of its pods (${docsOf('policies#switch-it-on')}), or the coordinator has not seen the policy yet`;
};

type Meant = {
  written: ReturnType<typeof writtenOf>;
  groups: ReadonlyMap<string, Group>;
  letsPass: PolicyExplanation['letsPass'];
};

/** Undefined of one that cannot be carried anywhere. */
const meantBy = (policy: AnyPolicy): Meant | undefined => {
  const compiled = 'spec' in policy ? compilePolicy(policy) : undefined;
  if (!compiled || !('enforcement' in compiled)) return undefined;
  const { groups } = compiled;
  const written = writtenOf(compiled.enforcement);
  const letsPass = written.lines.map((line, at) => ({
    direction: line.direction,
    peer: peerText(
      line,
      written.exceptions.filter(({ line: of }) => of === at),
      groups,
    ),
    ports: portText(line, groups),
  }));
  return { written, groups, letsPass };
};

type Line = Meant['written']['lines'][number];

const peerText = (
  { group, cidr }: Line,
  exceptions: readonly { cidr: string }[],
  groups: Meant['groups'],
): string => {
  if (cidr !== undefined)
    return exceptions.length === 0
      ? cidr
      : `${cidr} without ${exceptions.map((one) => one.cidr).join(', ')}`;
  return group === undefined ? 'any' : groupText(groups.get(group));
};

const portText = ({ protocol, port, endPort, named }: Line, groups: Meant['groups']): string => {
  if (protocol === undefined) return 'any';
  const number = named === undefined ? port : groups.get(named)?.port?.name;
  if (number === undefined) return protocol;
  return `${protocol} ${number}${endPort === undefined ? '' : `-${endPort}`}`;
};

/** The text of a group that its policy names. */
const groupText = (group: Group | undefined): string => {
  if (group === undefined) return '';
  const { pods, namespaces, port } = group;
  const selected = selectorText(pods);
  const own = selected === '' ? 'all pods' : `pods with ${selected}`;
  const labels = 'labels' in namespaces ? selectorText(namespaces.labels) : '';
  const where =
    'name' in namespaces
      ? `of ${namespaces.name}`
      : labels === ''
        ? 'of all namespaces'
        : `of namespaces with ${labels}`;
  return `${own} ${where}${port === undefined ? '' : ` with port ${port.name}`}`;
};

/** By address; of pods that share one, whose it is. */
const namesIn = (pods: readonly PolicyPod[]): ReadonlyMap<string, string> => {
  const holders = holdersIn(pods);
  return new Map(
    pods.flatMap((pod) =>
      addressesOf(pod)
        .filter(({ claim }) => isHeldBy(pod, holders.get(claim) ?? []))
        .map(({ address }) => [address, `${pod.namespace}/${pod.name}`] as const),
    ),
  );
};

type Known = ExplainedPolicy & { meant: Meant | undefined; names: ReadonlyMap<string, string> };

const placeOf = ({ metadata, spec, status }: PolicyEnforcement, known: Known): Place => {
  const { policy } = known;
  const cnf = metadata.labels?.[PURPOSE_LABEL] ?? '';
  const isCurrent = spec.policy.generation === policy.generation && spec.refused === undefined;
  const groups = isCurrent ? groupsAt(spec, { ...metadata, cnf }, known) : undefined;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    namespace: metadata.namespace,
    cnf,
    place: spec.place,
    object: metadata.name,
    inSync: isCurrent && status?.inSync === true,
    ...reasonOf(spec, policy, ready),
    ...toldOf(status),
    ...(groups && { groups }),
  };
};

const toldOf = (
  status: PolicyEnforcement['status'],
): Pick<Place, 'pods' | 'notEnforced' | 'scope'> => {
  const { selectedPods: pods, notEnforced = [], scope } = status ?? {};
  return {
    ...(pods && { pods: { selected: pods.selected, enforced: pods.enforced } }),
    notEnforced: notEnforced.map((one) => {
      const why = own(NOT_ENFORCED, one.reason);
      return { ...one, ...(why !== undefined && { why }) };
    }),
    ...(scope !== undefined && { scope }),
  };
};

const reasonOf = (
  { refused, policy: of }: PolicyEnforcement['spec'],
  { generation }: AnyPolicy,
  ready: { reason: string; message: string } | undefined,
): Pick<Place, 'reason' | 'message' | 'cure'> => {
  if (refused)
    return { reason: refused.reason, message: refused.message, ...curedBy(refused.reason) };
  if (of.generation !== generation)
    return {
      reason: 'Outdated',
      message: `generation ${of.generation} is written there, and the policy has ${generation}`,
    };
  if (!ready) return { reason: 'Unknown' };
  const { reason, message } = ready;
  return reason === 'InSync' ? { reason } : { reason, message, ...curedBy(reason) };
};

const curedBy = (reason: string): Pick<Place, 'cure'> => {
  const cure = cureOf(reason, { kind: policyEnforcementResource.kind });
  return cure === undefined ? {} : { cure };
};

const MAX_EXAMPLES = 5;

/** What is written stands in the order of the policy, which matches the groups of both. */
const groupsAt = (
  spec: PolicyEnforcement['spec'],
  { namespace, cnf }: { namespace: string; cnf: string },
  { groups, meant, names }: Known,
): Place['groups'] => {
  if (groups === undefined || meant === undefined) return undefined;
  const pairs = new Map([
    [spec.pods, meant.written.pods],
    ...spec.lines.flatMap((line, at): [string, string][] => {
      const other = meant.written.lines[at];
      return [
        ...(line.group !== undefined && other?.group !== undefined
          ? [[line.group, other.group] satisfies [string, string]]
          : []),
        ...(line.named !== undefined && other?.named !== undefined
          ? [[line.named, other.named] satisfies [string, string]]
          : []),
      ];
    }),
  ]);
  return [...pairs].map(([id, meaning]) => {
    const members = groups
      .filter(
        (one) =>
          one.spec.group === id &&
          one.metadata.namespace === namespace &&
          one.metadata.labels?.[PURPOSE_LABEL] === cnf,
      )
      .flatMap((one) => one.spec.members);
    return {
      pods: groupText(meant.groups.get(meaning)),
      members: members.length,
      examples: members.slice(0, MAX_EXAMPLES).map((member) => {
        const name = names.get(addressOf(member));
        return name === undefined ? member : `${name} (${member})`;
      }),
    };
  });
};

export const policyExplanationText = (view: PolicyExplanation, now: number): string => {
  const { policy, isolates, letsPass, places, events, notes } = view;
  return titled([
    [
      `${policy.kind}/${policy.name}`,
      table(
        ['NAMESPACE', 'GENERATION', 'ISOLATES', 'ENFORCED'],
        [
          [
            policy.namespace,
            String(policy.generation),
            isolates.join(', ') || '-',
            view.enforced ? 'yes' : 'no',
          ],
        ],
      ),
    ],
    [
      'Lets pass',
      tableOrNone(
        ['DIRECTION', 'FROM OR TO', 'PORTS'],
        letsPass.map(({ direction, peer, ports }) => [direction, peer, ports]),
      ),
    ],
    ['Enforced at', placesTable(places)],
    ['Not enforced for', notEnforcedTable(places)],
    ['Groups', groupsTable(places)],
    ['So far', eventsTable(events, now)],
    ...notes.map((note): [string, string] => ['Note', printable(note)]),
  ]);
};

const nameOf = ({ namespace, cnf }: Place): string => `${namespace}/${cnf}`;

const placesTable = (places: readonly Place[]): string =>
  [
    tableOrNone(
      ['CNF', 'PLACE', 'PODS', 'STATE', 'OBJECT'],
      places.map((one) => [
        nameOf(one),
        one.place,
        one.pods ? `${one.pods.enforced}/${one.pods.selected}` : '-',
        one.reason,
        one.object,
      ]),
    ),
    ...places.flatMap((one) => [
      ...(one.message ? [`${nameOf(one)}: ${printable(one.message)}\n`] : []),
      ...(one.cure ? [`  cure: ${printable(one.cure)}\n`] : []),
      ...(one.scope ? [`${nameOf(one)}: ${printable(one.scope)}\n`] : []),
    ]),
  ].join('');

const notEnforcedTable = (places: readonly Place[]): string =>
  tableOrNone(
    ['CNF', 'REASON', 'PODS', 'SUCH AS', 'WHY'],
    places.flatMap((place) =>
      place.notEnforced.map(({ reason, pods, examples, why = '' }) => [
        nameOf(place),
        reason,
        String(pods),
        examples.join(', '),
        why,
      ]),
    ),
  );

const groupsTable = (places: readonly Place[]): string =>
  tableOrNone(
    ['CNF', 'WHO', 'MEMBERS', 'SUCH AS'],
    places.flatMap((place) =>
      (place.groups ?? []).map(({ pods, members, examples }) => [
        nameOf(place),
        pods,
        String(members),
        examples.join(', '),
      ]),
    ),
  );
