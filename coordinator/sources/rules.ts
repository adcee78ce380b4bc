/**
 * Every rule CR of every kind and namespace, whatever its labels: one that loses its label must not
 * be forgotten while it has our finalizer. Knows our own writes before the watch tells of them, so
 * that nothing is decided on what we have just changed.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { Index } from '#shared/kube/informer/key-index.ts';
import { objectSchema, type ResourceType, type RuleObject } from '#shared/kube/objects.ts';
import { createOwnWrites } from '#shared/kube/own-writes.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import type { Resource } from '#shared/resources/resource.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import type { StoreEvent } from '#shared/kube/informer/store.ts';
import { isAnswered, type WatchState } from '#shared/kube/informer/watch-state.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { ruleOf, type Rule } from './rule.ts';
import { filterOf, identified, isKept, shapeOf, whole, type KeptRule } from './kept-rule.ts';

export type WatchedKind = ResourceType & Pick<Resource, 'coalesceMs' | 'status'>;

/** A version of a rule CR, and what is computed from it. */
export type RuleVersion = { resource: WatchedKind; object: RuleObject; rule: Rule };

export type RulesOptions = {
  /** Undefined: of all. */
  namespace: string | undefined;
  kinds: readonly WatchedKind[];
  revisionOf: (object: RuleObject) => string;
  /** By what else rules are found: `tied`. `filter`: `filterOf` it. */
  indexKeysOf?: (object: RuleObject, filter: unknown) => readonly string[];
  /** Whether more is read of such rules than what identifies them, and so kept. Default: all. */
  isRead?: (kind: string) => boolean;
  client: KubeClient;
  clock: Clock;
  log: Logger;
  /** A rule came, went (`gone`) or changed. */
  onChange: (uid: string, gone: boolean) => void;
};

export class Rules {
  readonly #options: RulesOptions;
  readonly #reflectors: readonly Reflector<KeptRule>[];
  /** As the watch has shown them. */
  readonly #watched = new Map<string, RuleVersion>();
  /** What we wrote, or read past the watch. */
  readonly #answers = createOwnWrites(({ object }: RuleVersion) => object);
  /** By `namespace/purpose`, and by their index keys. */
  readonly #index = new Index();

  constructor(options: RulesOptions) {
    this.#options = options;
    const { client, clock, log, namespace } = options;
    this.#reflectors = options.kinds.map((kind) => {
      const schema = objectSchema.transform((object) => this.#kept(object));
      const resource = { ...kind, schema };
      return new Reflector({
        client,
        clock,
        log,
        resource,
        selection: { namespace },
        onEvent: (event) => this.#onEvent(resource, event),
      });
    });
  }

  /** The kinds that are served but were never listed, and why. */
  get unknown(): ReadonlyMap<string, WatchState> {
    return new Map(
      this.#reflectors
        .filter(({ state }) => !isAnswered(state))
        .map(({ resource, state }) => [resource.kind, state]),
    );
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.run(signal)));
  }

  get(uid: string): RuleVersion | undefined {
    const watched = this.#watched.get(uid);
    return watched && this.#answers.latest(watched);
  }

  uids(): IterableIterator<string> {
    return this.#watched.keys();
  }

  uidsOfPurpose(namespace: string, purpose: string): ReadonlySet<string> {
    return this.#index.ids(`${namespace}/${purpose}`);
  }

  /**
   * The CRs that have one of these index keys, those being deleted included; none where there are
   * more than `most`. Costs what is found, however many there are beside.
   */
  tied(indexKeys: readonly string[], most = Number.POSITIVE_INFINITY): RuleObject[] {
    if (indexKeys.some((indexKey) => this.#index.ids(indexKey).size > most)) return [];
    const uids = new Set(indexKeys.flatMap((indexKey) => [...this.#index.ids(indexKey)]));
    return [...uids].flatMap((uid) => this.get(uid)?.object ?? []);
  }

  /**
   * What the API server answered about a rule. It counts until the watch shows the same or a later
   * version, and not at all when it has shown a later one: the two come on connections of their
   * own, and a deletion must not be forgotten for the answer to a write before it.
   */
  learn(object: RuleObject): RuleVersion | undefined {
    const watched = this.#watched.get(object.metadata.uid);
    if (!watched) return undefined;
    this.#answers.note(this.#version(watched.resource, object));
    return this.#answers.latest(watched);
  }

  #onEvent(resource: ResourceType, { type, object, old }: StoreEvent<KeptRule>): void {
    const { uid } = object.metadata;
    if (type === 'deleted') {
      this.#watched.delete(uid);
      this.#answers.forget(uid);
      this.#index.set(uid, []);
    } else {
      const watched = this.#version(resource, object);
      this.#watched.set(uid, watched);
      // Most events are about a status; the spec would be parsed for each.
      if (!old || !sameKeys(old, object)) this.#index.set(uid, keysOf(object, watched.rule));
    }
    this.#options.onChange(uid, type === 'deleted');
  }

  #version(resource: ResourceType, given: RuleObject): RuleVersion {
    const object = isKept(given) ? given : this.#kept(given);
    return { resource, object, rule: ruleOf(object, object.revision) };
  }

  #kept(object: RuleObject): KeptRule {
    const { isRead = () => true, revisionOf, indexKeysOf } = this.#options;
    const known = this.#watched.get(object.metadata.uid)?.object;
    const shape = shapeOf(object);
    // Most versions of a rule differ in their status only, and a spec can have half a megabyte.
    const read = (): Pick<KeptRule, 'revision' | 'indexKeys' | 'filter'> => {
      const filter = filterOf(object);
      return {
        revision: revisionOf(object),
        indexKeys: indexKeysOf?.(object, filter) ?? [],
        filter,
      };
    };
    const { revision, indexKeys, filter } =
      shape !== undefined && known && isKept(known) && known.shape === shape ? known : read();
    const part = isRead(object.kind) ? whole(object) : identified(object);
    return { ...part, revision, indexKeys, shape, filter };
  }
}

const keysOf = ({ indexKeys }: KeptRule, { namespace, purpose }: Rule): string[] =>
  purpose === undefined ? [...indexKeys] : [`${namespace}/${purpose}`, ...indexKeys];

/** A generation has one spec, and nothing but spec and purpose ties a rule to others. */
const sameKeys = ({ metadata: old }: RuleObject, { metadata: now }: RuleObject): boolean =>
  old.generation !== undefined &&
  old.generation === now.generation &&
  old.labels?.[PURPOSE_LABEL] === now.labels?.[PURPOSE_LABEL];
