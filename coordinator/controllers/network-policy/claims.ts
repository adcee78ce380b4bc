/** Which pods say of themselves that they have an address. */
import {
  claimsOf,
  hasOwnAddresses,
  holdersAmong,
  type Claimant,
  type PolicyPod,
} from '#shared/policy/group-members.ts';

export const createClaims = () => {
  const claimants = new Map<string, Map<string, Claimant>>();

  const holdersOf = (claim: string): readonly PolicyPod[] =>
    holdersAmong([...(claimants.get(claim)?.values() ?? [])]);

  const claim = (of: string, uid: string, claimant: Claimant | undefined): string[] => {
    const holders = claimants.getOrInsert(of, new Map());
    if (claimant) holders.set(uid, claimant);
    else holders.delete(uid);
    if (holders.size === 0) claimants.delete(of);
    return [...holders.keys()].filter((other) => other !== uid);
  };

  return {
    holdersOf,
    /** Undefined: that is not certain. */
    ownerOf: (address: string): PolicyPod | undefined => {
      const [owner, ...others] = holdersOf(address);
      return others.length === 0 ? owner : undefined;
    },
    /** Uids of other pods with an address that this one had, or has: its owner may change. */
    put: (uid: string, pod: PolicyPod | undefined, old: PolicyPod | undefined): string[] => [
      ...ownClaims(old).flatMap(([of]) => claim(of, uid, undefined)),
      ...ownClaims(pod).flatMap(([of, claimant]) => claim(of, uid, claimant)),
    ],
  };
};

const ownClaims = (pod: PolicyPod | undefined): [claim: string, claimant: Claimant][] =>
  pod && hasOwnAddresses(pod)
    ? [...claimsOf(pod)].map(([claim, isForeign]) => [claim, { pod, isForeign }])
    : [];
