/** Writes what only the coordinator knows of a PolicyEnforcement's pods, and tells by Events. */
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '#shared/kube/client.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import { replaceStatus } from '#shared/kube/fenced.ts';
import type { OwnWrites } from '#shared/kube/own-writes.ts';
import {
  policyEnforcementResource,
  type PolicyEnforcement,
} from '#shared/resources/other-kinds/policy-enforcement.ts';
import { atOnce } from '#shared/util/at-once.ts';
import type { Compiled } from './desired.ts';
import { eventsOf } from './events.ts';
import type { PolicyPlace } from './objects.ts';
import { ownStatusOf, type Status } from './status.ts';
import type { PolicySources } from './sources.ts';

/** Statuses of one CNF. */
const STATUSES_AT_ONCE = 4;

export type StatusesDeps = {
  client: KubeClient;
  policySources: PolicySources;
  /** Uids of the pods of a CNF. */
  podsOf: (place: PolicyPlace) => ReadonlySet<string>;
  record: (event: RecordedEvent) => void;
  written: Pick<OwnWrites<PolicyEnforcement>, 'note'>;
};

/** `isEnough`: no further one is begun. Returns the uids of policies whose turn did not come. */
export const writeStatuses = async (
  { client, podsOf, record, policySources, written }: StatusesDeps,
  place: PolicyPlace,
  {
    compiled,
    present,
  }: { compiled: ReadonlyMap<string, Compiled>; present: readonly PolicyEnforcement[] },
  { isEnough, signal }: { isEnough: () => boolean; signal: AbortSignal },
): Promise<string[]> => {
  const { holdersOf, members, selected } = policySources.groups;
  const facts = { cnf: podsOf(place), holdersOf, members, purpose: place.purpose };
  const rest: string[] = [];
  await atOnce(present, STATUSES_AT_ONCE, async (object) => {
    if (isEnough()) {
      rest.push(object.spec.policy.uid);
      return;
    }
    const one = compiled.get(object.spec.policy.uid);
    if (one === undefined || object.metadata.deletionTimestamp !== undefined) return;
    const { status = {}, spec } = object;
    const own = ownStatusOf({
      ...facts,
      spec,
      scope: 'scope' in one ? one.scope : [],
      selected: selected(one.spec.pods),
      isInSync: isInSync(object),
    });
    const next = { ...withoutOwn(status), ...own };
    if (isDeepStrictEqual(next, status)) return;
    const fence = { client, resource: policyEnforcementResource, object };
    written.note(await replaceStatus(fence, next, { signal }));
    const watched = policySources.policy(spec.policy.uid);
    if (watched)
      for (const event of eventsOf(place, status, next)) record({ object: watched, ...event });
  });
  return rest;
};

const isInSync = ({ status, metadata }: PolicyEnforcement): boolean =>
  status?.inSync === true && status.observedGeneration === metadata.generation;

const withoutOwn = ({
  selectedPods: _selected,
  notEnforced: _not,
  scope: _scope,
  ...rest
}: Status): Status => rest;
