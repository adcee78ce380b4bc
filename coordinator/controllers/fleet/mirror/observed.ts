/**
 * Writes what agents observe of their pods into CNFs, by one call: a look at a CNFDeployment costs
 * five, and nothing in it is decided by that.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import {
  againIn,
  createController,
  OVERTAKEN,
  type Controller,
  type ControllerDeps,
} from '#shared/kube/controller.ts';
import { isOvertaken, keep } from '#shared/kube/owned.ts';
import type { ObjectKey } from '#shared/kube/path.ts';
import type { Counters } from '#shared/protocol/counters.ts';
import { cnfResource } from '#shared/resources/other-kinds/cnf.ts';
import { timestamp } from '../../../rule-status/wording.ts';
import { placeOf } from '../deployment.ts';
import type { Networks } from './facts.ts';
import { observedInMs, observedOf } from './objects.ts';
import type { Mirror } from './writer.ts';

export type ObservedDeps = ControllerDeps & {
  client: KubeClient;
  mirror: Pick<Mirror, 'cnfOf' | 'cnfs' | 'isReady'>;
  /** By the uid of the pod, as are the others. */
  addressesOf: (podUid: string) => Networks;
  countersOf: (podUid: string) => Counters | undefined;
  reportedAt: (podUid: string) => number | undefined;
};

export type ObservedController = Pick<Controller, 'run'> & { mark: (cnf: ObjectKey) => void };

/** Reports come together. */
const COALESCE_MS = 200;

export const createObservedController = (deps: ObservedDeps): ObservedController => {
  const { addressesOf, client, clock, countersOf, mirror, reportedAt } = deps;
  const { leadership, log, metrics } = deps;
  const mark = ({ namespace = '', name }: ObjectKey): void =>
    controller.mark(`${namespace}/${name}`);

  const controller = createController({
    leadership,
    metrics,
    clock,
    log,
    name: 'cnf-observed',
    facts: () => mirror.isReady() || undefined,
    markAll: () => mirror.cnfs().forEach(({ metadata }) => mark(metadata)),
    reconcile: async (key, _, signal) => {
      const { namespace, name } = placeOf(key);
      const cnf = mirror.cnfOf(namespace, name);
      const uid = cnf?.status?.podUID;
      if (!cnf || uid === undefined) return 'done';
      const pod = { uid, networks: addressesOf(uid), counters: countersOf(uid) };
      const now = clock.now();
      const inMs = observedInMs(pod, cnf.status, now);
      if (inMs !== 0) return againIn(inMs);
      const at = reportedAt(uid);
      const status = {
        ...cnf.status,
        ...observedOf(pod, cnf.status, now),
        ...(at !== undefined && { lastReport: timestamp(at) }),
      };
      const desired = { metadata: { namespace, name }, fields: { status } };
      const { outcome } = await keep({ client, resource: cnfResource, signal }, desired, cnf);
      return isOvertaken(outcome) ? OVERTAKEN : 'done';
    },
    coalesceMs: COALESCE_MS,
    groupOf: (key) => placeOf(key).namespace,
    fieldsOf: (key) => ({ cnf: key }),
  });
  return { mark, run: controller.run };
};
