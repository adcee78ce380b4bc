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
import { Reflector } from '#shared/kube/reflector.ts';
import { addressGroupResource, type AddressGroup } from '#shared/resources/address-group.ts';
import {
  policyEnforcementResource,
  type PolicyEnforcement,
} from '#shared/resources/policy-enforcement.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import { changesFor, type ObjectChange } from './changes.ts';
import { askedOf, type AskedPolicies } from './desired.ts';
import { keyOf, placeOf, type PolicyPlace } from './objects.ts';
import { writeStatuses } from './statuses.ts';
import { createPolicyWorld } from './world.ts';

export type PoliciesDeps = ControllerDeps & {
  client: KubeClient;
  /** The CNFs that ask for policies; undefined while that is not known. */
  places: () => readonly PolicyPlace[] | undefined;
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

export const createPoliciesController = (deps: PoliciesDeps): PoliciesController => {
  const { client, clock, log, podsOf, record } = deps;
  const common = { client, clock, log };
  const markOf = (object: { metadata: AddressGroup['metadata'] }): void => {
    const purpose = object.metadata.labels?.[PURPOSE_LABEL];
    if (purpose !== undefined)
      controller.mark(keyOf({ namespace: object.metadata.namespace, purpose }), COALESCE_MS);
  };
  const groups = new Reflector({
    ...common,
    resource: addressGroupResource,
    onEvent: ({ object }) => markOf(object),
  });
  const enforcements = new Reflector({
    ...common,
    resource: policyEnforcementResource,
    onEvent: ({ object }) => markOf(object),
  });
  const isPlace = (key: string): boolean =>
    (deps.places() ?? []).some((place) => keyOf(place) === key);
  const keys = (): string[] => [
    ...new Set([
      ...(deps.places() ?? []).map(keyOf),
      ...[...groups.store.list(), ...enforcements.store.list()].map(({ metadata }) =>
        keyOf({
          namespace: metadata.namespace,
          purpose: metadata.labels?.[PURPOSE_LABEL] ?? '',
        }),
      ),
    ]),
  ];
  let asked: AskedPolicies | undefined;
  let markedAt = -Infinity;
  const markAll = (): void => {
    const now = clock.monotonic();
    const delay = Math.max(0, markedAt + COALESCE_MS - now);
    if (delay === 0) markedAt = now;
    for (const key of keys()) controller.mark(key, delay);
  };
  const onChange = (): void => {
    asked = undefined;
    markAll();
  };
  const world = createPolicyWorld({
    ...common,
    isWanted: () => (deps.places()?.length ?? 0) > 0,
    onChange,
  });

  const askedNow = (): AskedPolicies =>
    (asked ??= askedOf({
      policies: world.policies(),
      pods: world.pods(),
      labelsOf: world.labelsOf,
    }));

  const ofPlace = <T extends AddressGroup | PolicyEnforcement>(
    { store }: Reflector<T>,
    { namespace, purpose }: PolicyPlace,
  ): T[] =>
    store
      .list()
      .filter(
        ({ metadata }) =>
          metadata.namespace === namespace && metadata.labels?.[PURPOSE_LABEL] === purpose,
      );

  /** The first write that hits another version ends it: there is news. */
  const writeAll = async <T extends AddressGroup | PolicyEnforcement>(
    resource: Reflector<T>['resource'],
    changes: readonly ObjectChange<T>[],
    signal: AbortSignal,
  ): Promise<boolean> => {
    for (const [desired, present] of changes) {
      const { outcome } = await keep({ client, resource, signal }, desired, present);
      if (isOvertaken(outcome)) return false;
    }
    return true;
  };

  const reconcile = async (key: string, _known: true, signal: AbortSignal): Promise<Outcome> => {
    const place = placeOf(key);
    const wanted = isPlace(key) ? askedNow() : NOTHING_ASKED;
    const present = {
      groups: ofPlace(groups, place),
      enforcements: ofPlace(enforcements, place),
    };
    const changes = changesFor(place, wanted, present);
    const isWritten =
      (await writeAll(addressGroupResource, changes.groups, signal)) &&
      (await writeAll(policyEnforcementResource, changes.enforcements, signal)) &&
      (await writeAll(policyEnforcementResource, changes.enforcementsGone, signal)) &&
      (await writeAll(addressGroupResource, changes.groupsGone, signal));
    if (!isWritten) return OVERTAKEN;
    for (const [uid, message] of wanted.refused) {
      const object = world.policy(uid);
      if (object) record({ object, type: 'Warning', reason: 'NotEnforced', message, once: true });
    }
    await writeStatuses({ client, podsOf, record, world }, place, present.enforcements, signal);
    return 'done';
  };

  const controller = createController<true>({
    ...deps,
    name: 'policies',
    sources: [world, groups, enforcements],
    world: () => {
      const places = deps.places();
      const isKnown = groups.state.listed && enforcements.state.listed && places !== undefined;
      return isKnown && (places.length === 0 || world.isKnown()) ? true : undefined;
    },
    markAll: () => {
      for (const key of keys()) controller.mark(key, 0);
    },
    reconcile,
    fieldsOf: (cnf) => ({ cnf }),
    coalesceMs: COALESCE_MS,
  });

  return { onPlaces: markAll, run: controller.run };
};

const NOTHING_ASKED: AskedPolicies = {
  enforcements: new Map(),
  groups: new Map(),
  refused: new Map(),
};
