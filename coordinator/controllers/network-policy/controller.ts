/**
 * Watches NetworkPolicies, pods and namespaces; owns and writes the AddressGroups and PolicyEnforcements of each CNF that asks for policies
 * (annotation `policy-networks`), and what their statuses say of pods. Nothing is written before all lists are complete; the policies
 * themselves are never written, they get Events.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import {
  createController,
  OVERTAKEN,
  type ControllerDeps,
  type Outcome,
} from '#shared/kube/controller.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import { isOvertaken, keep } from '#shared/kube/owned.ts';
import { createOwnWrites, type OwnWrites } from '#shared/kube/own-writes.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import { addressGroupResource, type AddressGroup } from '#shared/resources/address-group.ts';
import {
  policyEnforcementResource,
  type PolicyEnforcement,
} from '#shared/resources/policy-enforcement.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import { atOnce } from '#shared/util/at-once.ts';
import { changesFor, isAbout, type About, type Changes, type ObjectChange } from './changes.ts';
import {
  askedOf,
  compiledAt,
  NOTHING_ASKED,
  type AskedPolicies,
  type Compiled,
} from './desired.ts';
import type { PolicyMetrics } from './metrics.ts';
import { keyOf, placeOf, type PolicyPlace } from './objects.ts';
import { gatewaysOf, type Gateway } from './enforcing-cnfs.ts';
import type { AnnotatedPod } from '../../sources/policy-annotation.ts';
import { writeStatuses } from './status-writer.ts';
import type { PolicyWorld } from './sources.ts';

export type PoliciesDeps = ControllerDeps & {
  client: KubeClient;
  world: PolicyWorld;
  policyMetrics: PolicyMetrics;
  /** Those that say that their CNF enforces policies; undefined while that is not known. */
  asking: () => readonly AnnotatedPod[] | undefined;
  /** Uids of the pods of a CNF. */
  podsOf: (place: PolicyPlace) => ReadonlySet<string>;
  record: (event: RecordedEvent) => void;
};

export type PoliciesController = {
  /** A CNF may ask for policies from now on, or not any more. */
  onPlaces: () => void;
  run: (signal: AbortSignal) => Promise<void>;
};

/** A roll-out changes many pods one after the other: the first change is written at once, what follows within this time. */
const COALESCE_MS = 250;
/** Policies of one CNF. One after the other, 100 groups that change each second came to the kernels 6 s late (1,000 pods, two cores). */
const WRITES_AT_ONCE = 16;
/** Of one policy, which can have hundreds: others are not to wait for all of them. */
const GROUPS_AT_ONCE = 4;
/** So long what has just changed waits for writes of what had changed before, and again for statuses: the first ones of 1,000 policies took 16 s (two cores at a load of 14). */
const TURN_MS = 250;
/** Until the watch shows what has just been written. */
const SHOWN_MS = 100;

export const createPoliciesController = (deps: PoliciesDeps): PoliciesController => {
  const { client, clock, log, podsOf, record, world } = deps;
  const common = { client, clock, log };
  const changed = createChanged();
  const markOf = (
    { metadata }: AddressGroup | PolicyEnforcement,
    about: Partial<Changed>,
  ): void => {
    const purpose = metadata.labels?.[PURPOSE_LABEL];
    if (purpose === undefined) return;
    const key = keyOf({ namespace: metadata.namespace, purpose });
    changed.add(key, about);
    controller.mark(key, COALESCE_MS);
  };
  const writtenGroups = createOwnWrites((group: AddressGroup) => group);
  const writtenEnforcements = createOwnWrites((enforcement: PolicyEnforcement) => enforcement);
  const groups = new Reflector({
    ...common,
    resource: addressGroupResource,
    indices: { place: placesOf },
    onEvent: ({ object, type }) => {
      if (type === 'deleted') writtenGroups.forget(object.metadata.uid);
      markOf(object, { groups: [object.spec.group] });
    },
  });
  const enforcements = new Reflector({
    ...common,
    resource: policyEnforcementResource,
    indices: { place: placesOf },
    // One that is gone may have been the last that needed a group.
    onEvent: ({ object, type }) => {
      if (type === 'deleted') writtenEnforcements.forget(object.metadata.uid);
      markOf(object, type === 'updated' ? { policies: [object.spec.policy.uid] } : { isAll: true });
    },
  });

  /** Undefined: nobody knows, or what is known has changed. */
  let gateways: ReadonlyMap<string, Gateway> | undefined;
  let compiled: ReadonlyMap<string, ReadonlyMap<string, Compiled>> | undefined;

  const gatewaysNow = (): ReadonlyMap<string, Gateway> | undefined => {
    if (gateways) return gateways;
    const asking = deps.asking();
    if (asking === undefined) return undefined;
    const found = gatewaysOf(asking);
    for (const { object, message } of found.invalid)
      record({ object, type: 'Warning', reason: 'InvalidAnnotation', message, once: true });
    gateways = new Map(found.gateways.map((one) => [keyOf(one), one]));
    return gateways;
  };

  const compiledNow = (): ReadonlyMap<string, ReadonlyMap<string, Compiled>> => {
    if (compiled) return compiled;
    const policies = world.policies();
    compiled = new Map(
      [...(gatewaysNow() ?? [])].map(([key, one]) => [key, compiledAt(one, policies)] as const),
    );
    const all = [...compiled.values()].flatMap((of) => [...of.values()]);
    reader.follow(new Map(all.flatMap((one) => ('groups' in one ? [...one.groups] : []))));
    return compiled;
  };

  const keys = (): string[] => [
    ...new Set([
      ...(gatewaysNow()?.keys() ?? []),
      ...[...groups.store.list(), ...enforcements.store.list()].flatMap(placesOf),
    ]),
  ];
  let markedAt = -Infinity;
  /** The first of what comes together is written at once. */
  const markAll = (about: Partial<Changed>): void => {
    const now = clock.monotonic();
    const delay = Math.max(0, markedAt + COALESCE_MS - now);
    if (delay === 0) markedAt = now;
    for (const key of keys()) {
      changed.add(key, about);
      controller.mark(key, delay);
    }
  };
  const onPolicies = (): void => {
    compiled = undefined;
    markAll({ isAll: true });
  };
  const reader = world.join({
    isWanted: () => (gatewaysNow()?.size ?? 0) > 0,
    onPolicies,
    onTouched: (touched) => markAll({ groups: touched }),
  });

  deps.policyMetrics.exposeGroups(world.groups.size);

  const ofGroups = { resource: addressGroupResource, written: writtenGroups };
  const ofEnforcements = { resource: policyEnforcementResource, written: writtenEnforcements };
  /** What cannot be carried is told once. */
  const tellRefused = ({ enforcements: carried, refused }: AskedPolicies): void => {
    for (const [uid, spec] of [...refused, ...carried]) {
      const object = spec.refused && world.policy(uid);
      const message = spec.refused?.message ?? '';
      if (object) record({ object, type: 'Warning', reason: 'NotEnforced', message, once: true });
    }
  };

  /** From now on, until another's change has waited for long enough. */
  const turnOf = (key: string): (() => boolean) => {
    const until = clock.monotonic() + TURN_MS;
    return () => clock.monotonic() >= until && changed.has(key);
  };

  /** After a write that hits another version, or when it is enough, none is begun: there is news. */
  const writeChanges = async (
    { enforcementsGone, groupsGone, steps }: Changes,
    { isEnough, signal }: { isEnough: () => boolean; signal: AbortSignal },
  ): Promise<Outcome> => {
    let isOfToday = true;
    let isWhole = true;
    /** Namespaces of which a policy is not written yet: what they have let go may be what it stands for. */
    const unfinished = new Set<string>();
    const write = async <T extends AddressGroup | PolicyEnforcement>(
      { resource, written }: { resource: Reflector<T>['resource']; written: OwnWrites<T> },
      [desired, present]: ObjectChange<T>,
    ): Promise<void> => {
      if (!isOfToday) return;
      const { object, outcome } = await keep({ client, resource, signal }, desired, present);
      if (object) written.note(object);
      if (isOvertaken(outcome)) isOfToday = false;
    };
    await atOnce(steps, WRITES_AT_ONCE, async ({ enforcement, groups: slices, namespace }) => {
      isWhole &&= !isEnough();
      if (!isWhole) {
        if (namespace !== undefined) unfinished.add(namespace);
        return;
      }
      await atOnce(slices, GROUPS_AT_ONCE, (change) => write(ofGroups, change));
      if (enforcement) await write(ofEnforcements, enforcement);
    });
    const gone = enforcementsGone.filter(
      ([, present]) => !unfinished.has(present?.spec.policy.namespace ?? ''),
    );
    await atOnce(gone, WRITES_AT_ONCE, (change) => write(ofEnforcements, change));
    if (!isWhole) return isOfToday ? { againInMs: SHOWN_MS } : OVERTAKEN;
    await atOnce(groupsGone, WRITES_AT_ONCE, (change) => write(ofGroups, change));
    return isOfToday ? 'done' : OVERTAKEN;
  };

  const carryOut = async (key: string, about: About, signal: AbortSignal): Promise<Outcome> => {
    const place = placeOf(key);
    const gateway = gatewaysNow()?.get(key);
    // Of a CNF whose annotation nobody can read what is in force stays.
    if (gateway?.isUnread) return 'done';
    const at = (gateway && compiledNow().get(key)) ?? NOTHING_COMPILED;
    const wanted = gateway ? askedOf(at, world.groups.members) : NOTHING_ASKED;
    const present = {
      groups: groups.store.by('place', key).map(writtenGroups.latest),
      enforcements: enforcements.store.by('place', key).map(writtenEnforcements.latest),
    };
    tellRefused(wanted);
    const changes = changesFor(place, wanted, present, about);
    const outcome = await writeChanges(changes, { isEnough: turnOf(key), signal });
    if (outcome !== 'done') return outcome;
    const told = present.enforcements
      .map(writtenEnforcements.latest)
      .filter(({ spec }) => isAbout(about, spec.policy.uid, spec));
    const statuses = { client, podsOf, record, world, written: writtenEnforcements };
    const of = { compiled: at, present: told };
    const rest = await writeStatuses(statuses, place, of, { isEnough: turnOf(key), signal });
    if (rest.length > 0) changed.add(key, { policies: rest });
    return 'done';
  };

  const reconcile = async (key: string, _known: true, signal: AbortSignal): Promise<Outcome> => {
    const about = changed.take(key);
    let outcome: Outcome | undefined;
    try {
      outcome = await carryOut(key, about, signal);
      return outcome;
    } finally {
      // What was not carried out to its end is all looked at the next time.
      if (outcome !== 'done') changed.add(key, { isAll: true });
    }
  };

  const controller = createController<true>({
    ...deps,
    name: 'policies',
    sources: [groups, enforcements],
    world: () => {
      const known = gatewaysNow();
      const isKnown = groups.state.listed && enforcements.state.listed && known !== undefined;
      return isKnown && (known.size === 0 || world.isKnown()) ? true : undefined;
    },
    markAll: () => {
      gateways = undefined;
      for (const key of keys()) {
        changed.add(key, { isAll: true });
        controller.mark(key, 0);
      }
    },
    reconcile,
    fieldsOf: (cnf) => ({ cnf }),
    coalesceMs: COALESCE_MS,
  });

  return {
    onPlaces: () => {
      gateways = undefined;
      onPolicies();
    },
    run: controller.run,
  };
};

const NOTHING_COMPILED: ReadonlyMap<string, Compiled> = new Map();

const placesOf = ({ metadata }: AddressGroup | PolicyEnforcement): string[] => [
  keyOf({ namespace: metadata.namespace, purpose: metadata.labels?.[PURPOSE_LABEL] ?? '' }),
];

type Changed = { isAll: boolean; groups: Iterable<string>; policies: Iterable<string> };

/** What has changed of each CNF since it was last looked at. */
const createChanged = () => {
  const byKey = new Map<string, About>();
  return {
    add: (key: string, { isAll = false, groups = [], policies = [] }: Partial<Changed>): void => {
      const about = byKey.get(key) ?? { groups: new Set<string>(), policies: new Set<string>() };
      if (isAll || about === 'all') {
        byKey.set(key, 'all');
        return;
      }
      byKey.set(key, {
        groups: new Set([...about.groups, ...groups]),
        policies: new Set([...about.policies, ...policies]),
      });
    },
    has: (key: string): boolean => byKey.has(key),
    /** Nothing is known of a key that somebody marked otherwise, so all of it. */
    take: (key: string): About => {
      const about = byKey.get(key) ?? 'all';
      byKey.delete(key);
      return about;
    },
  };
};
