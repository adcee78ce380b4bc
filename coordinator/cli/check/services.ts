/** Services whose ports a CNF does not open, judged as the coordinator does. Pure. */
import type { RuleObject } from '#shared/kube/objects.ts';
import { EXPOSE_ANNOTATION } from '#shared/names.ts';
import { templateFactsOf } from '../../sources/workload.ts';
import { cnfPodOf } from '../../sources/cnf-pod.ts';
import {
  claimsOf,
  type Cnfs,
} from '../../controllers/generated-rules/kubernetes-services/wanted-rules.ts';
import { serviceOf } from '../../controllers/generated-rules/kubernetes-services/service.ts';

export type RefusedService = {
  /** `namespace/name` */
  service: string;
  /** Why, and what to do. */
  reasons: string[];
};

/**
 * `reservedPorts`: such as `22/tcp`. Services without an annotation are exposed as the
 * coordinator's configuration says, and need no consent.
 */
export const refusedServices = (
  services: readonly RuleObject[],
  pods: readonly RuleObject[],
  reservedPorts: readonly string[],
): RefusedService[] => {
  const asking = services.filter(
    ({ metadata }) => metadata.annotations?.[EXPOSE_ANNOTATION] !== undefined,
  );
  const options = { allTo: undefined, zone: UNKNOWN_ZONE, exceptNamespaces: [], reservedPorts };
  const { notes } = claimsOf(asking.map(serviceOf), options, cnfsOf(pods));
  return asking.flatMap(({ metadata: { namespace, name, uid } }) => {
    const reasons = (notes.get(uid) ?? []).map(({ message }) => message);
    return reasons.length === 0 ? [] : [{ service: `${namespace}/${name}`, reasons }];
  });
};

/** The configuration may name one for Services without; which it is makes no difference here. */
const UNKNOWN_ZONE = 'zone';

const cnfsOf = (pods: readonly RuleObject[]): Cnfs => {
  const cnfs = pods.flatMap((pod) => {
    const { namespace, purpose } = cnfPodOf(pod);
    const { accepts = '' } = templateFactsOf(pod);
    const names = accepts.split(',').map((name) => name.trim());
    return purpose === undefined ? [] : [{ namespace, purpose, names }];
  });
  return {
    acceptedBy: (namespace, purpose) => {
      const known = cnfs.filter((cnf) => cnf.namespace === namespace && cnf.purpose === purpose);
      return known.length === 0 ? undefined : new Set(known.flatMap(({ names }) => names));
    },
  };
};
