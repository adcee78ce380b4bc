/**
 * The pods of all CNFs: a watch of those that bear a purpose label, kept as targets, and a look past the watch for the moment
 * before a finalizer goes. A pod that lost its label is only seen by that look, which is why it asks for all pods of a namespace.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { identityOf, objectSchema, type KubeObject } from '#shared/kube/objects.ts';
import { Reflector } from '#shared/kube/reflector.ts';
import type { WatchState } from '#shared/kube/watch-state.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { sameTarget, targetOf, type Target } from './target.ts';
import { placeOf, podFactsOf, podResource, type Place, type PodFacts } from './workload.ts';

/** Those who ask within this time share one list. */
const SHARE_MS = 25;

export type PodChange = { before: Target | undefined; now: Target | undefined };

export type PodsOptions = {
  /** Undefined: of all. */
  namespace: string | undefined;
  client: KubeClient;
  clock: Clock;
  log: Logger;
  /** A pod came, went, or changed in what matters. */
  onChange: (change: PodChange) => void;
  onState: (state: WatchState) => void;
};

/** `account` and `networks` matter to others than roll-up: see `podFactsOf`. */
type CnfPod = KubeObject & { target: Target } & PodFacts & Place;

export class Pods {
  readonly #options: PodsOptions;
  readonly #reflector: Reflector<CnfPod>;
  readonly #byPurpose = new Map<string, Map<string, Target>>();
  readonly #looks = new Map<string, Promise<Target[]>>();

  constructor(options: PodsOptions) {
    const { client, clock, log, namespace, onChange, onState } = options;
    this.#options = options;
    this.#reflector = new Reflector({
      client,
      clock,
      log,
      resource: { ...podResource, schema: cnfPodSchema },
      selection: { namespace, labelSelector: PURPOSE_LABEL },
      onState,
      onEvent: ({ type, object, old }) => {
        const before = type === 'deleted' ? object.target : old?.target;
        const now = type === 'deleted' ? undefined : object.target;
        if (before && now && sameTarget(before, now)) return;
        this.#index(before, now);
        onChange({ before, now });
      },
    });
  }

  get state(): WatchState {
    return this.#reflector.state;
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }

  all(): Target[] {
    return this.#reflector.store.list().map(({ target }) => target);
  }

  byName(namespace: string, name: string): Target | undefined {
    return this.#reflector.store.byName(namespace, name)?.target;
  }

  byUid(uid: string): Target | undefined {
    return this.#reflector.store.byUid(uid)?.target;
  }

  placeOf(uid: string): Place {
    const { node, ip } = this.#reflector.store.byUid(uid) ?? {};
    return { node, ip };
  }

  /** Those of pods with an agent in it, as long as its containers may run; each may come more than once. */
  serviceAccounts(namespace: string): string[] {
    return this.#reflector.store
      .list()
      .filter(({ target }) => target.namespace === namespace && !target.finished)
      .filter(({ target }) => target.agent.state !== 'missing')
      .map(({ account }) => account);
  }

  /** The `nfn-network` annotations of a purpose's pods. */
  networkAnnotations(namespace: string, purpose: string): (string | undefined)[] {
    return this.ofPurpose(namespace, purpose).map(
      ({ uid }) => this.#reflector.store.byUid(uid)?.networks,
    );
  }

  /** In no particular order; finished and terminating ones too. */
  ofPurpose(namespace: string, purpose: string): Target[] {
    return [...(this.#byPurpose.get(keyOf(namespace, purpose))?.values() ?? [])];
  }

  /** Where there are CNF pods of that purpose, whatever their state. */
  namespacesOf(purpose: string): string[] {
    const having = this.all().filter((target) => target.purpose === purpose);
    return [...new Set(having.map(({ namespace }) => namespace))];
  }

  ofNamespace(namespace: string): Target[] {
    return this.all().filter((target) => target.namespace === namespace);
  }

  /** One pod, from the API server. @throws KubeError */
  async lookAt(namespace: string, name: string, signal: AbortSignal): Promise<Target> {
    return targetOf(await this.#options.client.get(podResource, { namespace, name }, { signal }));
  }

  /** All pods of a namespace, from the API server, as of after the call. @throws KubeError */
  look(namespace: string): Promise<Target[]> {
    const { client, clock } = this.#options;
    const shared = this.#looks.get(namespace);
    if (shared) return shared;
    const look = clock.sleep(SHARE_MS).then(async () => {
      this.#looks.delete(namespace);
      const { items } = await client.list(podResource, { namespace });
      return items.map(targetOf);
    });
    this.#looks.set(namespace, look);
    return look;
  }

  #index(before: Target | undefined, now: Target | undefined): void {
    if (before?.purpose !== undefined) {
      const key = keyOf(before.namespace, before.purpose);
      const targets = this.#byPurpose.get(key);
      targets?.delete(before.uid);
      if (targets?.size === 0) this.#byPurpose.delete(key);
    }
    if (now?.purpose === undefined) return;
    const key = keyOf(now.namespace, now.purpose);
    const targets = this.#byPurpose.get(key) ?? new Map<string, Target>();
    this.#byPurpose.set(key, targets.set(now.uid, now));
  }
}

const keyOf = (namespace: string, purpose: string): string => `${namespace}/${purpose}`;

/** Only what is needed stays in memory: a Pod is some ten kilobytes, its target some hundred bytes. */
const cnfPodSchema = objectSchema.transform((object): CnfPod => ({
  ...identityOf(object),
  target: targetOf(object),
  ...podFactsOf(object),
  ...placeOf(object),
}));
