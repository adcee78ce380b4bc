/** Looks whether another CNF serves a purpose. */
import type { Logger } from '#shared/runtime/log.ts';
import type { AdmissionRefusal } from '../refusals.ts';
import type { CnfLookups } from './lookups.ts';
import { secondCnf, type CnfIdentity } from './second-cnf.ts';

export type SecondCnfDeps = { lookups: CnfLookups; log: Logger };

/**
 * Undefined also where the API server does not answer: two CNFs of one purpose are a nuisance, and
 * a CNF that cannot start is an outage. `isNone`: one that does not count.
 */
export const findSecond = async (
  { lookups, log }: SecondCnfDeps,
  {
    namespace,
    purpose,
    own,
    signal,
  }: {
    namespace: string;
    purpose: string;
    own: CnfIdentity | Promise<CnfIdentity>;
    signal: AbortSignal;
  },
  isNone: (other: CnfIdentity) => boolean = () => false,
): Promise<AdmissionRefusal | undefined> => {
  try {
    const [self, others] = await Promise.all([own, lookups.cnfs(namespace, purpose, signal)]);
    return secondCnf(
      purpose,
      self,
      others.filter((other) => !isNone(other)),
    );
  } catch (err) {
    log.warn(
      { err, namespace, purpose },
      'failed to check whether another CNF has the purpose, allowing this one',
    );
    return undefined;
  }
};
