/** Which pods say of themselves that they have an address. */
import {
  addressesOf,
  hasOwnAddresses,
  holdersAmong,
  type PolicyPod,
} from '#shared/policy/group-members.ts';

export const createClaims = () => {
  const claimants = new Map<string, Map<string, PolicyPod>>();

  const holdersOf = (claim: string): readonly PolicyPod[] =>
    holdersAmong([...(claimants.get(claim)?.values() ?? [])]);

  const claim = (of: string, uid: string, pod: PolicyPod | undefined): string[] => {
    const holders = claimants.getOrInsert(of, new Map());
    if (pod) holders.set(uid, pod);
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
      ...claimsOf(old).flatMap((of) => claim(of, uid, undefined)),
      ...claimsOf(pod).flatMap((of) => claim(of, uid, pod)),
    ],
  };
};

const claimsOf = (pod: PolicyPod | undefined): string[] =>
  pod && hasOwnAddresses(pod) ? addressesOf(pod).map(({ claim }) => claim) : [];
