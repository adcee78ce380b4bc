/** What policies in files would change: between which workloads packets pass now, and would not, and the other way. Pure. */
import * as z from 'zod';
import { CLUSTER_PLACE } from '#shared/policy/networks.ts';
import { compilePolicy } from '#shared/policy/enforcement.ts';
import { addressesIn, hasOwnAddresses, membersOf, ownersOf } from '#shared/policy/groups.ts';
import { POLICY_KINDS, type Policy } from '#shared/policy/network-policy.ts';
import { subnetOf } from '#shared/policy/networks.ts';
import { enforcementOf } from '#shared/resources/enforcement-lines.ts';
import { askedOf, compiledAt, type AskedPolicies, type Compiled } from '../../policy/desired.ts';
import type { Gateway } from '../../policy/places.ts';
import type { AnyPolicy } from '../../policy/watched.ts';
import { printable, table } from '../output/table.ts';
import {
  reachChanges,
  type Connection,
  type PolicyEnd,
  type PolicyEntry,
} from '../policies/reach.ts';
import type { EnforcingCnf, PoliciesNow } from '../policies/world.ts';

const policyChangeSchema = z.object({
  kind: z.enum(POLICY_KINDS),
  namespace: z.string(),
  name: z.string(),
  change: z.enum(['New', 'Changed']),
  enforcedAt: z.array(z.string()).describe('CNFs that would enforce it, as namespace/name.'),
  notCarried: z
    .array(z.object({ at: z.string(), reason: z.string(), message: z.string() }))
    .describe('CNFs that could not: what they enforce of it now would stay.'),
});

const connectionSchema = z.object({
  change: z.enum(['Cut', 'Opened']),
  from: z.string(),
  to: z.string(),
  ports: z.array(z.string()).describe('TCP, UDP and SCTP: all, or such as TCP 80 and UDP 1-52.'),
  at: z.array(z.string()).describe('CNFs at which that is so, as namespace/name.'),
});

export const policiesDiffSchema = z.object({
  changes: z.array(policyChangeSchema),
  connections: z
    .array(connectionSchema)
    .describe('New ones between the pods that there are, where they pass these CNFs.'),
  moreConnections: z.int().describe('So many more are not listed.'),
  notCompared: z.int().describe('So many pairs of ends were too many to look at.'),
});
export type PoliciesDiff = z.infer<typeof policiesDiffSchema>;

/** A person reads them. */
const MAX_CONNECTIONS = 100;

export const policiesDiffOf = (now: PoliciesNow, wanted: readonly Policy[]): PoliciesDiff => {
  const before = new Map(now.policies.map((policy) => [keyOf(policy), policy]));
  const after = new Map(before);
  const changed = wanted.flatMap((policy) => {
    const old = before.get(keyOf(policy));
    if (old && isSame(old, policy)) return [];
    const { uid, generation } = old ?? { uid: `new ${keyOf(policy)}`, generation: 0 };
    const stored = { ...policy, uid, generation: generation + 1 };
    after.set(keyOf(policy), stored);
    return [{ policy: stored, change: old ? ('Changed' as const) : ('New' as const) }];
  });
  const uids = new Set(changed.map(({ policy }) => policy.uid));
  const places = now.cnfs
    .map((cnf) =>
      placeOf(cnf, { now, uids, policies: [[...before.values()], [...after.values()]] }),
    )
    .filter(({ concerned }) => concerned);
  const all = joined(places);
  return {
    changes: changed.map(({ policy: { kind, namespace, name, uid }, change }) => ({
      kind,
      namespace,
      name,
      change,
      enforcedAt: places.filter(({ enforced }) => enforced.has(uid)).map(({ name: at }) => at),
      notCarried: places.flatMap(({ name: at, refused }) => {
        const why = refused.get(uid);
        return why ? [{ at, reason: why.reason, message: why.message }] : [];
      }),
    })),
    connections: all.slice(0, MAX_CONNECTIONS),
    moreConnections: Math.max(0, all.length - MAX_CONNECTIONS),
    notCompared: places.reduce((sum, place) => sum + place.notCompared, 0),
  };
};

const keyOf = ({ kind, namespace, name }: AnyPolicy): string =>
  JSON.stringify([kind, namespace, name]);

/** What the API server fills in makes no difference. */
const isSame = (old: AnyPolicy, policy: Policy): boolean =>
  'spec' in old && meaningOf(old) === meaningOf(policy);

const meaningOf = (policy: Policy): string => {
  const compiled = compilePolicy(policy);
  const meaning = 'enforcement' in compiled ? compiled.enforcement : policy.spec;
  return JSON.stringify([meaning, policy.networks]);
};

type Asked = {
  now: PoliciesNow;
  /** Of the policies that change. */
  uids: ReadonlySet<string>;
  /** Before and after. */
  policies: readonly [readonly AnyPolicy[], readonly AnyPolicy[]];
};

const placeOf = ({ gateway, pods: own }: EnforcingCnf, { now, uids, policies }: Asked) => {
  const name = `${gateway.namespace}/${gateway.purpose}`;
  const [then, soon] = policies;
  const compiled = { before: compiledAt(gateway, then), after: compiledAt(gateway, soon) };
  const concerned = [...compiled.before.keys(), ...compiled.after.keys()].some((uid) =>
    uids.has(uid),
  );
  const owners = ownersOf(now.pods);
  const groups = new Map(
    [...compiled.before.values(), ...compiled.after.values()].flatMap((one) =>
      concerned && 'groups' in one ? [...one.groups] : [],
    ),
  );
  const members = new Map(
    [...groups].map(([id, group]) => [id, membersOf(group, now.pods, now.labelsOf, owners)]),
  );
  const asked = (of: ReadonlyMap<string, Compiled>): AskedPolicies =>
    askedOf(of, (id) => members.get(id) ?? []);
  const before = asked(compiled.before);
  const after = asked(compiled.after);
  const entries = { before: entriesOf(before), after: entriesOf(after) };
  // What cannot be carried stays as it last could.
  const stays = entries.before.filter(({ of }) => after.refused.has(of));
  const reached = reachChanges({
    before: entries.before,
    after: [...entries.after, ...stays],
    changed: uids,
    members: new Map([...members].map(([id, all]) => [id, new Set(all)])),
    ends: concerned
      ? endsOf(gateway, { ...now, pods: now.pods.filter(({ uid }) => !own.has(uid)) }, owners)
      : [],
  });
  return {
    name,
    concerned,
    enforced: after.enforcements,
    refused: new Map(
      [...after.refused].flatMap(([uid, { refused }]) =>
        refused ? [[uid, refused] as const] : [],
      ),
    ),
    ...reached,
  };
};

const entriesOf = ({ enforcements }: AskedPolicies): PolicyEntry[] =>
  [...enforcements].map(([of, spec]) => ({ of, enforcement: enforcementOf(spec) }));

/** The addresses of pods that count at the CNF. */
const endsOf = (
  { hasCluster, networks }: Gateway,
  { pods }: Pick<PoliciesNow, 'pods'>,
  owners: ReturnType<typeof ownersOf>,
): PolicyEnd[] => {
  const places = [...(hasCluster ? [{ name: CLUSTER_PLACE, subnets: [] }] : []), ...networks];
  return places.flatMap((network) =>
    pods.filter(hasOwnAddresses).flatMap((pod) =>
      addressesIn(pod, [network])
        .filter(({ claim }) => owners.get(claim)?.uid === pod.uid)
        .map(({ address }): PolicyEnd => {
          if (network.name === CLUSTER_PLACE)
            return { name: pod.workload, address, side: CLUSTER_PLACE };
          const subnet = subnetOf(address, network.subnets);
          const name = `${pod.workload} (${network.name})`;
          return { name, address, side: 'second', ...(subnet !== undefined && { subnet }) };
        }),
    ),
  );
};

/** What is so at several CNFs is one; what is cut comes first. */
const joined = (
  places: readonly { name: string; connections: readonly Connection[] }[],
): PoliciesDiff['connections'] => {
  const all = new Map<string, PoliciesDiff['connections'][number]>();
  for (const { name, connections } of places)
    for (const { change, from, to, ports } of connections) {
      const key = JSON.stringify([change, from, to, ports]);
      const known = all.get(key);
      if (known) known.at.push(name);
      else all.set(key, { change, from, to, ports, at: [name] });
    }
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
};

const WORDS = { New: 'new', Changed: 'changed' } as const;
const MAX_PORTS = 6;

export const policiesDiffText = (diff: PoliciesDiff): string => {
  const { changes, connections, moreConnections, notCompared } = diff;
  const heads = changes.flatMap(({ kind, namespace, name, change, enforcedAt, notCarried }) => [
    `${kind} ${namespace}/${name}: ${WORDS[change]}; ${placesText(enforcedAt)}\n`,
    ...notCarried.map(
      ({ at, reason, message }) => `  not carried at ${at}: ${reason}: ${printable(message)}\n`,
    ),
  ]);
  if (changes.every(({ enforcedAt }) => enforcedAt.length === 0)) return heads.join('');
  const rows = connections.map(({ change, from, to, ports, at }) => [
    change === 'Cut' ? 'cut' : 'opened',
    from,
    to,
    portsText(ports),
    at.join(', '),
  ]);
  return [
    heads.join(''),
    rows.length === 0
      ? 'Between the pods that there are nothing is cut or opened.\n'
      : table(['CHANGE', 'FROM', 'TO', 'PORTS', 'AT'], rows),
    ...(moreConnections > 0 ? [`and ${moreConnections} more\n`] : []),
    ...(notCompared > 0
      ? [`not compared, since there are too many: ${notCompared} pairs of workloads\n`]
      : []),
  ].join('\n');
};

const placesText = (at: readonly string[]): string =>
  at.length === 0
    ? 'no CNF would enforce it, so none cuts or opens anything'
    : `enforced at ${at.join(', ')}`;

const portsText = (ports: readonly string[]): string =>
  ports.length <= MAX_PORTS
    ? ports.join(', ')
    : `${ports.slice(0, MAX_PORTS).join(', ')} and ${ports.length - MAX_PORTS} more`;
