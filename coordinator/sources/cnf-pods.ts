/**
 * The pods of all CNFs: a watch of those that bear a purpose label, kept as CnfPods, and a look
 * past the watch for the moment before a finalizer goes. A pod that lost its label is only seen by
 * that look, which is why it asks for all pods of a namespace.
 */
import { isDeepStrictEqual } from 'node:util';
import type { NetworkTexts } from '#shared/compile/networks.ts';
import { PAGE_SIZE, type KubeClient } from '#shared/kube/client.ts';
import { identityOf, objectSchema, type KubeObject } from '#shared/kube/objects.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import type { WatchState } from '#shared/kube/informer/watch-state.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { policyAnnotationsAmong, type PolicyAnnotations } from './policy-annotation.ts';
import { isSameCnfPod, cnfPodOf, type CnfPod } from './cnf-pod.ts';
import {
  podPlaceOf,
  templateFactsOf,
  podResource,
  type PodPlace,
  type TemplateFacts,
} from './workload.ts';

/** Callers within this time share one list. */
const SHARE_MS = 25;

export type CnfPodChange = {
  before: CnfPod | undefined;
  now: CnfPod | undefined;
  /** Whether it accepts Services of other namespaces than before. */
  hasNewConsent: boolean;
};

export type CnfPodsOptions = {
  /** Undefined: of all. */
  namespace: string | undefined;
  client: KubeClient;
  clock: Clock;
  log: Logger;
  /** A pod came, went, or changed in what matters. */
  onChange: (change: CnfPodChange) => void;
};

/** `account`, `networks` and `accepts` matter to others than roll-up: see `templateFactsOf`. */
type Stored = KubeObject & { pod: CnfPod } & TemplateFacts & PodPlace;

export class CnfPods {
  readonly #options: CnfPodsOptions;
  readonly #reflector: Reflector<Stored>;
  readonly #looks = new Map<string, Promise<CnfPod[]>>();

  constructor(options: CnfPodsOptions) {
    const { client, clock, log, namespace, onChange } = options;
    this.#options = options;
    this.#reflector = new Reflector({
      client,
      clock,
      log,
      resource: cnfPods,
      selection: { namespace, labelSelector: PURPOSE_LABEL },
      indices: {
        namespace: ({ pod }) => [pod.namespace],
        purpose: ({ pod: { namespace: of, purpose } }) =>
          purpose === undefined ? [] : [`${of}/${purpose}`],
      },
      onEvent: ({ type, object, old }) => {
        const before = type === 'deleted' ? object.pod : old?.pod;
        const now = type === 'deleted' ? undefined : object.pod;
        const hasNewConsent = old?.accepts !== object.accepts;
        const isNews =
          hasNewConsent || !isDeepStrictEqual(old?.aboutPolicies, object.aboutPolicies);
        if (before && now && isSameCnfPod(before, now) && !isNews) return;
        onChange({ before, now, hasNewConsent });
      },
    });
  }

  get state(): WatchState {
    return this.#reflector.state;
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }

  /** Resolves once all that has happened to pods until now is known, or the signal aborts. */
  catchUp(signal: AbortSignal): Promise<void> {
    return this.#reflector.catchUp(signal);
  }

  all(): CnfPod[] {
    return this.#reflector.store.list().map(({ pod }) => pod);
  }

  byName(namespace: string, name: string): CnfPod | undefined {
    return this.#reflector.store.byName(namespace, name)?.pod;
  }

  byUid(uid: string): CnfPod | undefined {
    return this.#reflector.store.byUid(uid)?.pod;
  }

  placeOf(uid: string): PodPlace {
    const { node, ip, agentImage } = this.#reflector.store.byUid(uid) ?? {};
    return { node, ip, agentImage };
  }

  /** Those of pods with an agent in it, while its containers may run; some come more than once. */
  serviceAccounts(namespace: string): string[] {
    return this.#reflector.store
      .by('namespace', namespace)
      .filter(({ pod }) => !pod.finished && pod.agent.state !== 'missing')
      .map(({ account }) => account);
  }

  /** What a purpose's pods say of networks. */
  networkAnnotations(namespace: string, purpose: string): (NetworkTexts | undefined)[] {
    return this.withNetworks(namespace, purpose).map(({ networks }) => networks);
  }

  /** The same with the names of the pods. */
  withNetworks(
    namespace: string,
    purpose: string,
  ): { kind: string; name: string; networks: NetworkTexts | undefined }[] {
    return this.#reflector.store
      .by('purpose', `${namespace}/${purpose}`)
      .map(({ pod: { name }, networks }) => ({ kind: podResource.kind, name, networks }));
  }

  /**
   * Namespaces that any pod of a CNF accepts Services from: during a roll-out there are old and new
   * ones. Undefined: no pod of it is known.
   */
  acceptedBy(namespace: string, purpose: string): ReadonlySet<string> | undefined {
    const pods = this.#reflector.store.by('purpose', `${namespace}/${purpose}`);
    const names = pods.flatMap(({ accepts = '' }) => accepts.split(','));
    return pods.length === 0 ? undefined : new Set(names.map((name) => name.trim()));
  }

  askingForPolicies(): PolicyAnnotations[] {
    return policyAnnotationsAmong(this.#reflector.store.list());
  }

  /** In no particular order; finished and terminating ones too. */
  ofPurpose(namespace: string, purpose: string): CnfPod[] {
    return this.#podsBy('purpose', `${namespace}/${purpose}`);
  }

  ofNamespace(namespace: string): CnfPod[] {
    return this.#podsBy('namespace', namespace);
  }

  /** One pod, from the API server. @throws KubeError */
  async lookAt(namespace: string, name: string, signal: AbortSignal): Promise<CnfPod> {
    return cnfPodOf(await this.#options.client.get(podResource, { namespace, name }, { signal }));
  }

  /** All pods of a namespace, from the API server, as of after the call. @throws KubeError */
  look(namespace: string): Promise<CnfPod[]> {
    const { client, clock } = this.#options;
    const shared = this.#looks.get(namespace);
    if (shared) return shared;
    const look = clock.sleep(SHARE_MS).then(async () => {
      this.#looks.delete(namespace);
      const { items } = await client.list(cnfPods, { namespace, pageSize: PAGE_SIZE });
      return items.map(({ pod }) => pod);
    });
    this.#looks.set(namespace, look);
    return look;
  }

  #podsBy(index: 'namespace' | 'purpose', key: string): CnfPod[] {
    return this.#reflector.store.by(index, key).map(({ pod }) => pod);
  }
}

/** Only what is needed stays in memory: a Pod is some ten kilobytes, this some hundred bytes. */
const cnfPodSchema = objectSchema.transform((object): Stored => ({
  ...identityOf(object),
  pod: cnfPodOf(object),
  ...templateFactsOf(object),
  ...podPlaceOf(object),
}));

const cnfPods = { ...podResource, schema: cnfPodSchema };
