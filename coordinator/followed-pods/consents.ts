/**
 * Whose pods a rule may select: those of its own namespace, and of namespaces that name the rule's in an annotation. Otherwise whoever writes
 * rules in one namespace would see the addresses of all pods of the cluster, and route their packets.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import {
  identityOf,
  objectSchema,
  type KubeObject,
  type ResourceType,
} from '#shared/kube/objects.ts';
import { Reflector } from '#shared/kube/reflector.ts';
import { ACCEPTS_ANNOTATION } from '#shared/names.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';

/** Undefined: it is not known yet. */
export type Accepts = (namespaceOfPods: string, namespaceOfRule: string) => boolean | undefined;

export type ConsentsOptions = {
  client: KubeClient;
  /** What some namespace accepts has changed. Must return at once. */
  onChange: () => void;
  clock: Clock;
  log: Logger;
};

type AcceptingNamespace = KubeObject & { accepted: readonly string[] };

const namespaceResource: ResourceType<AcceptingNamespace> = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  schema: objectSchema.transform((object): AcceptingNamespace => ({
    ...identityOf(object),
    accepted: acceptedIn(object.metadata.annotations?.[ACCEPTS_ANNOTATION]),
  })),
};

/** Characters. Of a longer annotation nothing counts, as of a pod's. */
const MAX_LENGTH = 16_384;

/** Of an annotation. */
export const acceptedIn = (text = ''): string[] =>
  text.length > MAX_LENGTH
    ? []
    : text
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== '');

export class Consents {
  readonly #reflector: Reflector<AcceptingNamespace>;

  constructor({ client, clock, log, onChange }: ConsentsOptions) {
    this.#reflector = new Reflector({
      client,
      clock,
      log,
      resource: namespaceResource,
      onState: ({ listed }) => {
        if (listed) onChange();
      },
      onEvent: ({ type, object, old }) => {
        const before = (old?.accepted ?? []).join();
        const now = type === 'deleted' ? '' : object.accepted.join();
        if (before !== now) onChange();
      },
    });
  }

  readonly accepts: Accepts = (namespaceOfPods, namespaceOfRule) => {
    if (namespaceOfPods === namespaceOfRule) return true;
    if (!this.#reflector.hasSynced()) return undefined;
    const { accepted = [] } = this.#reflector.store.byName('', namespaceOfPods) ?? {};
    return accepted.includes(namespaceOfRule);
  };

  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }
}
