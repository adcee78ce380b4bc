/**
 * How much of a policy is carried. What is beyond is refused as a whole, with both numbers: a part
 * of a policy would let through what it forbids.
 */

/** The most members of one group. */
export const MAX_GROUP_MEMBERS = 5_000;
/** The most numbers of a port's name on pods of several namespaces: each needs rules in Neutron. */
export const MAX_PORT_NUMBERS = 32;
/** The most rules of one policy at one place, in the kernel's words, with exceptions of blocks. */
export const MAX_RULES = 1_000;
/**
 * The most selectors of one namespace's policies at one place, alike ones counted once: each is a
 * group of its own in each kernel.
 */
export const MAX_SELECTORS = 500;
/** The most members of one AddressGroup, so that a change of one pod writes little. */
export const MAX_SLICE_MEMBERS = 250;

/**
 * Lines of policies, and members of their groups, that one agent is given, and takes: of all
 * namespaces, and of one.
 */
export const MAX_TAKEN = 60_000;
export const MAX_TAKEN_OF_NAMESPACE = 30_000;

export type TooLarge = { what: 'rules' | 'addresses'; has: number; limit: number };

export const tooLargeText = ({ what, has, limit }: TooLarge): string =>
  what === 'rules'
    ? `the policy comes to ${has} rules and blocks at this place, and ${limit} are carried`
    : `a selector of the policy selects ${has} addresses, and ${limit} are carried`;

/** `has`: addresses, of which each namespace is carried no more than its share. */
export const crowdedText = (has: number): string =>
  `${tooLargeText({ what: 'addresses', has, limit: MAX_GROUP_MEMBERS })}: of a namespace that brings more than an equal share, the rest is let nothing pass by it`;
