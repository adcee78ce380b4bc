/**
 * The rule CRs of one purpose and namespace, as the API server has them. One watch per kind.
 * Invariant: a rule leaves only when the API server said so; a watch that is refused, silent or not
 * served takes nothing away.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { keptRuleSchema, type ResourceType, type RuleObject } from '#shared/kube/objects.ts';
import { Reflector, type ReflectorTimings } from '#shared/kube/informer/reflector.ts';
import type { StoreEvent } from '#shared/kube/informer/store.ts';
import { isAnswered } from '#shared/kube/informer/watch-state.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { keptOfStatus } from '../commit-confirm/status-entry.ts';

export type RuleSourceDeps = {
  client: KubeClient;
  kinds: readonly ResourceType[];
  /** Kinds that the agent may not watch; their rules are not known. */
  leftOut: readonly string[];
  namespace: string;
  purpose: string;
  /**
   * Called when rules, or what is known of them, have changed; with a rule that is new or has a new
   * generation. Must return at once.
   */
  onChange: (rule?: RuleObject) => void;
  clock: Clock;
  log: Logger;
  timings?: Partial<ReflectorTimings>;
};

export type RuleSource = {
  rules: () => RuleObject[];
  /** Kinds whose rules are not known yet. Nothing may be written before it is empty. */
  unknownKinds: () => string[];
  /** Kinds that are not watched, or were never served: their sections are left alone. */
  unservedKinds: () => string[];
  /** Kinds whose changes do not arrive now, and why. */
  unwatchedKinds: () => ReadonlyMap<string, string>;
  /** Watches until the signal aborts. */
  run: (signal: AbortSignal) => Promise<void>;
};

export const createRuleSource = (deps: RuleSourceDeps): RuleSource => {
  const { client, namespace, purpose, onChange, clock, log, timings } = deps;
  const leftOut = deps.kinds.map(({ kind }) => kind).filter((kind) => deps.leftOut.includes(kind));
  const watched = deps.kinds.filter(({ kind }) => !leftOut.includes(kind));
  const reflectors = watched.map(
    (resource) =>
      new Reflector({
        client,
        resource: { ...resource, schema: heldRule },
        selection: { namespace, labelSelector: `${PURPOSE_LABEL}=${purpose}` },
        onEvent: (event) => onChange(newIn(event)),
        onState: () => onChange(),
        ignoreStatusUpdates: true,
        clock,
        log,
        ...(timings !== undefined && { timings }),
      }),
  );
  const kindsWhere = (holds: (reflector: Reflector) => boolean): string[] =>
    reflectors.filter(holds).map(({ resource }) => resource.kind);

  return {
    rules: () => reflectors.flatMap(({ store }) => store.list()),
    unknownKinds: () => kindsWhere(({ state }) => !isAnswered(state)),
    unservedKinds: () => [
      ...leftOut,
      ...kindsWhere(({ state }) => !state.listed && state.phase === 'NotServed'),
    ],
    unwatchedKinds: () =>
      new Map([
        ...leftOut.map((kind) => [kind, 'disabled by SDEWAN_WITHOUT_KINDS'] as const),
        ...reflectors
          .filter(({ state }) => state.phase !== 'Synced')
          .map(
            ({ resource, state }) => [resource.kind, `${state.phase}: ${state.message}`] as const,
          ),
      ]),
    run: async (signal) => {
      await Promise.all(reflectors.map((reflector) => reflector.run(signal)));
    },
  };
};

const newIn = ({ type, object, old }: StoreEvent<RuleObject>): RuleObject | undefined =>
  type === 'deleted' || old?.metadata.generation === object.metadata.generation
    ? undefined
    : object;

/** Agents look at nothing else of a status. */
const heldRule = keptRuleSchema.transform(
  ({ apiVersion, kind, metadata, spec, status }): RuleObject => ({
    apiVersion,
    kind,
    metadata,
    spec,
    ...keptOfStatus(status),
  }),
);
