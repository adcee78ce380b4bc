/** A packet between two ends at each CNF with NetworkPolicies: which of them decides. Pure. */
import * as z from 'zod';
import { PURPOSE_LABEL } from '#shared/names.ts';
import { decide, passes, type Decided, type PolicyPacket } from '#shared/policy/decide.ts';
import { subnetOf, type ScopedNetwork } from '#shared/policy/networks.ts';
import type { AddressGroup } from '#shared/resources/other-kinds/address-group.ts';
import { enforcementOf } from '#shared/resources/enforcement-lines.ts';
import type { PolicyEnforcement } from '#shared/resources/other-kinds/policy-enforcement.ts';
import { API_VERSION, headOf } from '../../views/output/format.ts';
import { printable, table } from '../../views/output/table.ts';
import { placeFields } from '../policies/place.ts';

const directionSchema = z.object({
  direction: z.enum(['egress', 'ingress']),
  isolatedBy: z
    .array(z.string())
    .describe('Policies that select the pod; none: nothing forbids it.'),
  allowedBy: z.string().optional().describe('The first policy that lets it pass.'),
  passes: z.boolean(),
});
const placeSchema = z.object({
  ...placeFields,
  passes: z.boolean(),
  directions: z.array(directionSchema),
  notInSync: z
    .array(z.string())
    .describe('Policies that not every pod of the CNF has as it is now.'),
});
export const policyTraceViewSchema = z.object({
  ...headOf('PolicyTrace'),
  packet: z.string(),
  verdict: z.enum(['allowed', 'denied', 'unknown']),
  places: z.array(placeSchema).describe('CNFs with a policy that is about one of the ends.'),
  notPassed: z
    .array(z.object({ ...placeFields, subnet: z.string() }))
    .describe('Such CNFs that forward nothing between the ends, which are both in that subnet.'),
});
export type PolicyTraceView = z.infer<typeof policyTraceViewSchema>;
type Place = z.infer<typeof placeSchema>;

type Enforced = Pick<PolicyEnforcement, 'metadata' | 'spec'> & {
  status?: { inSync?: boolean | undefined } | undefined;
};

/** The second networks of a CNF, with the subnets that are known of them. */
export type NetworksOfCnf = {
  namespace: string;
  purpose: string;
  networks: readonly ScopedNetwork[];
};

export type PolicyFacts = {
  enforcements: readonly Enforced[];
  groups: readonly AddressGroup[];
  networks: readonly NetworksOfCnf[];
};

/** `name`: as people write it, for a pod. */
export type End = { name: string | undefined; address: string };
export type EndToEnd = { from: End; to: End; packet: Pick<PolicyPacket, 'protocol' | 'port'> };

export const policyTraceView = (facts: PolicyFacts, asked: EndToEnd): PolicyTraceView => {
  const packet = { ...asked.packet, from: asked.from.address, to: asked.to.address };
  const byPlace = Map.groupBy(facts.enforcements, ({ metadata, spec }) =>
    JSON.stringify([metadata.namespace, metadata.labels?.[PURPOSE_LABEL] ?? '', spec.place]),
  );
  const places = [...byPlace].map(([key, enforcements]) => {
    const [namespace = '', cnf = '', place = ''] = z.array(z.string()).parse(JSON.parse(key));
    return placeOf({ namespace, cnf, place }, { ...facts, enforcements }, packet);
  });
  const concerned = places.filter(({ directions }) =>
    directions.some(({ isolatedBy }) => isolatedBy.length > 0),
  );
  const notPassed = concerned.flatMap(({ namespace, cnf, place }) => {
    const subnet = sharedSubnet({ namespace, cnf, place }, facts.networks, packet);
    return subnet === undefined ? [] : [{ namespace, cnf, place, subnet }];
  });
  const passed = concerned.filter((one) => !notPassed.some((other) => isSamePlace(one, other)));
  return {
    apiVersion: API_VERSION,
    kind: 'PolicyTrace',
    packet: packetText(asked),
    verdict: verdictOf(passed),
    places: passed,
    notPassed,
  };
};

type Named = Pick<Place, 'namespace' | 'cnf' | 'place'>;

const isSamePlace = (one: Named, other: Named): boolean =>
  one.namespace === other.namespace && one.cnf === other.cnf && one.place === other.place;

/** In which both ends are neighbours, so that no gateway sees their packets. */
const sharedSubnet = (
  { namespace, cnf, place }: Named,
  networks: readonly NetworksOfCnf[],
  { from, to }: Pick<PolicyPacket, 'from' | 'to'>,
): string | undefined => {
  const names = place.split(',');
  const subnets = networks
    .filter((one) => one.namespace === namespace && one.purpose === cnf)
    .flatMap((one) => one.networks.filter(({ name }) => names.includes(name)))
    .flatMap((network) => network.subnets);
  const subnet = subnetOf(from, subnets);
  return subnet === subnetOf(to, subnets) ? subnet : undefined;
};

const placeOf = (
  named: Named,
  { enforcements, groups }: PolicyFacts,
  packet: PolicyPacket,
): Place => {
  const members = membersIn(
    groups.filter(
      ({ metadata }) =>
        metadata.namespace === named.namespace && metadata.labels?.[PURPOSE_LABEL] === named.cnf,
    ),
  );
  const entries = enforcements
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map((of) => ({ of, enforcement: enforcementOf(of.spec) }));
  const decided = decide(packet, { entries, members });
  const involved = new Set(decided.flatMap(({ isolatedBy }) => isolatedBy));
  return {
    ...named,
    passes: decided.every(passes),
    directions: decided.map(directionOf),
    notInSync: [...involved].filter(({ status }) => status?.inSync !== true).map(policyName),
  };
};

const directionOf = (decided: Decided<Enforced>): Place['directions'][number] => ({
  direction: decided.direction,
  isolatedBy: decided.isolatedBy.map(policyName),
  ...(decided.allowedBy && { allowedBy: policyName(decided.allowedBy) }),
  passes: passes(decided),
});

const policyName = ({ spec: { policy } }: Enforced): string =>
  `${policy.kind ?? 'NetworkPolicy'} ${policy.namespace}/${policy.name}`;

const NOBODY: ReadonlySet<string> = new Set();

const membersIn = (groups: readonly AddressGroup[]) => {
  const all = new Map<string, Set<string>>();
  for (const { spec } of groups)
    all.set(spec.group, new Set([...(all.get(spec.group) ?? []), ...spec.members]));
  return (group: string): ReadonlySet<string> => all.get(group) ?? NOBODY;
};

const verdictOf = (places: readonly Place[]): PolicyTraceView['verdict'] => {
  if (places.some(({ notInSync }) => notInSync.length > 0)) return 'unknown';
  return places.every((one) => one.passes) ? 'allowed' : 'denied';
};

const packetText = ({ from, to, packet }: EndToEnd): string =>
  `${packet.protocol} from ${endText(from)} to ${endText(to)} port ${packet.port}`;
const endText = ({ name, address }: End): string =>
  name === undefined ? address : `${name} (${address})`;

export const policyTraceText = ({ packet, verdict, places, notPassed }: PolicyTraceView): string =>
  [
    `${printable(packet)}\n`,
    ...(places.length === 0
      ? []
      : [
          table(
            ['CNF', 'PLACE', 'DIRECTION', 'WHAT', 'BY'],
            places.flatMap(({ namespace, cnf, place, directions }) =>
              directions.map((one) => [
                `${namespace}/${cnf}`,
                place,
                one.direction,
                one.passes ? 'allowed' : 'denied',
                byText(one),
              ]),
            ),
          ),
        ]),
    ...places.flatMap(({ namespace, cnf, notInSync }) =>
      notInSync.map((policy) => `not in sync at ${namespace}/${cnf}: ${printable(policy)}\n`),
    ),
    ...notPassed.map(
      ({ namespace, cnf, subnet }) =>
        `not through ${namespace}/${cnf}: both ends are in ${subnet}, so they send to each other without a gateway\n`,
    ),
    `${conclusion(verdict, places, notPassed)}\n`,
  ].join('\n');

const byText = ({ isolatedBy, allowedBy }: Place['directions'][number]): string =>
  allowedBy ?? (isolatedBy.length === 0 ? '-' : `nothing in ${isolatedBy.join(', ')} lets it pass`);

const conclusion = (
  verdict: PolicyTraceView['verdict'],
  places: readonly Place[],
  notPassed: readonly Named[],
): string => {
  if (places.length === 0)
    return notPassed.length > 0
      ? 'passes no place of ours: allowed, whatever the policies say'
      : 'passes no place of ours: no policy that a CNF enforces is about either end';
  if (verdict === 'allowed') return 'allowed at each of these CNFs that it passes';
  const denied = places.filter((one) => !one.passes);
  const where = denied.map(({ namespace, cnf }) => `${namespace}/${cnf}`).join(', ');
  const words = denied.length === 0 ? 'allowed' : `denied at ${where}`;
  return verdict === 'denied'
    ? `${words}, where it passes`
    : `not known; when all policies are in sync: ${words}`;
};
