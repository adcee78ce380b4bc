/**
 * Watches NetworkPolicies, pods and namespaces; owns and writes the AddressGroups and
 * PolicyEnforcements of each CNF that asks for policies (annotation `policy-networks`), and what
 * their statuses say of pods. Nothing is written before all lists are complete; the policies
 * themselves are never written, they get Events.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { createController, type ControllerDeps, type Outcome } from '#shared/kube/controller.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import type { KubeObject } from '#shared/kube/objects.ts';
import { createChanged, type Changed } from './changed.ts';
import { changesFor, isAbout, type About } from './changes.ts';
import { createCompiled, type CompiledDeps } from './compiled.ts';
import { askedOf, type AskedPolicies } from './desired.ts';
import { notCarried } from './events.ts';
import type { PolicyMetrics } from './metrics.ts';
import { keyOf, placeOf, type PolicyPlace } from './objects.ts';
import { createOwnObjects } from './own-objects.ts';
import { writeStatuses } from './status-writer.ts';

export type PoliciesDeps = ControllerDeps &
  CompiledDeps & {
    client: KubeClient;
    policyMetrics: PolicyMetrics;
    /** Uids of the pods of a CNF. */
    podsOf: (place: PolicyPlace) => ReadonlySet<string>;
  };

export type PoliciesController = {
  /** A CNF may ask for policies from now on, or not any more. */
  onPlaces: () => void;
  run: (signal: AbortSignal) => Promise<void>;
};

/**
 * A roll-out changes many pods one after the other: the first change is written at once, what
 * follows within this time.
 */
const COALESCE_MS = 250;
/**
 * So long what has just changed waits for writes of what had changed before, and again for
 * statuses: the first ones of 1,000 policies took 16 s (two cores at a load of 14).
 */
const TURN_MS = 250;

export const createPoliciesController = (deps: PoliciesDeps): PoliciesController => {
  const { client, clock, log, podsOf, record, policySources } = deps;
  const changed = createChanged();
  const markOf = ({ metadata }: KubeObject, about: Partial<Changed>): void => {
    const purpose = metadata.labels?.[PURPOSE_LABEL];
    if (purpose === undefined) return;
    const key = keyOf({ namespace: metadata.namespace, purpose });
    changed.add(key, about);
    controller.mark(key, COALESCE_MS);
  };
  const own = createOwnObjects({ client, clock, log }, markOf);
  const keys = (): string[] => [
    ...new Set([...(compiled.gateways()?.keys() ?? []), ...own.places()]),
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
  const compiled = createCompiled(deps, {
    onPolicies: () => markAll({ isAll: true }),
    onTouched: (touched) => markAll({ groups: touched }),
  });

  deps.policyMetrics.exposeGroups(policySources.groups.size);

  /** From now on, until another's change has waited for long enough. */
  const turnOf = (key: string): (() => boolean) => {
    const until = clock.monotonic() + TURN_MS;
    return () => clock.monotonic() >= until && changed.has(key);
  };

  const carryOut = async (key: string, about: About, signal: AbortSignal): Promise<Outcome> => {
    const place = placeOf(key);
    // What is in force stays for a CNF whose annotation cannot be read.
    if (compiled.gateways()?.get(key)?.isUnread) return 'done';
    const at = compiled.at(key);
    const wanted = askedOf(at, policySources.groups);
    const present = own.at(key);
    tellRefused(wanted, { record, policySources });
    const changes = changesFor(place, wanted, present, about);
    const outcome = await own.write(changes, { isEnough: turnOf(key), signal });
    if (outcome !== 'done') return outcome;
    const told = present.enforcements
      .map(own.writtenEnforcements.latest)
      .filter(({ spec }) => isAbout(about, spec.policy.uid, spec));
    const statuses = { client, podsOf, record, policySources, written: own.writtenEnforcements };
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
    sources: own.sources,
    facts: () => {
      const known = compiled.gateways();
      const isKnown = own.areListed() && known !== undefined;
      return isKnown && (known.size === 0 || policySources.isKnown()) ? true : undefined;
    },
    markAll: () => {
      compiled.forget();
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
      compiled.forget();
      markAll({ isAll: true });
    },
    run: controller.run,
  };
};

/** What cannot be carried is told once. */
const tellRefused = (
  { crowded, enforcements: carried, refused }: AskedPolicies,
  { record, policySources }: Pick<PoliciesDeps, 'record' | 'policySources'>,
): void => {
  for (const [uid, spec] of [...refused, ...carried]) {
    const message = spec.refused?.message ?? crowded.get(uid);
    const object = message !== undefined && policySources.policy(uid);
    if (object) record(notCarried(object, message));
  }
};
