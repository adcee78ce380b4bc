/** Networks that the spec names, against the CNF's `nfn-network` annotation. Nothing is said while there is no CNF. */
import { checkSpec } from '#shared/compile/check.ts';
import type { Check } from './check.ts';

export const networksExist: Check = ({ after, specChanged, kind }, { networks }) => {
  if (after === undefined || !specChanged || networks === undefined || !kind.networks)
    return undefined;
  const checked = checkSpec(kind, after.spec);
  if ('problem' in checked) return undefined;
  const unknown = kind.networks(checked.spec).filter(({ network }) => !networks.has(network));
  if (unknown.length === 0) return undefined;
  const known = [...networks].sort().join(', ') || 'none';
  return {
    reason: 'UnknownNetwork',
    message: `${unknown.map(({ path, network }) => `${path}: ${network}`).join(', ')} is not a network of the CNF; it has: ${known}`,
  };
};
