/** The Deployments, StatefulSets and DaemonSets with a purpose label, a few facts of each. */
import type { KubeClient } from '#shared/kube/client.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { listedWorkloads, type KeptWorkload, type Workload } from './workload.ts';

export type WorkloadsOptions = {
  client: KubeClient;
  /** The only one to look at; undefined: all. */
  namespace: string | undefined;
  onChange: (namespace: string) => void;
  clock: Clock;
  log: Logger;
};

export class Workloads {
  readonly #reflectors: readonly Reflector<KeptWorkload>[];

  constructor({ client, namespace, onChange, clock, log }: WorkloadsOptions) {
    this.#reflectors = listedWorkloads.map(
      (resource) =>
        new Reflector({
          client,
          clock,
          log,
          resource,
          selection: { namespace, labelSelector: PURPOSE_LABEL },
          indices: { namespace: ({ workload }) => [workload.namespace] },
          onEvent: ({ object }) => onChange(object.workload.namespace),
        }),
    );
  }

  hasSynced(): boolean {
    return this.#reflectors.every((reflector) => reflector.hasSynced());
  }

  /** Those being deleted are not there any more. */
  all(): Workload[] {
    return this.#reflectors.flatMap(({ store }) => store.list()).flatMap(staying);
  }

  ofNamespace(namespace: string): Workload[] {
    return this.#reflectors
      .flatMap(({ store }) => store.by('namespace', namespace))
      .flatMap(staying);
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.run(signal)));
  }
}

const staying = ({ workload }: KeptWorkload): Workload[] => (workload.deleting ? [] : [workload]);
