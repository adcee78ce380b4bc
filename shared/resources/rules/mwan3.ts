/** What the kinds of mwan3 share. */
import { nameLimit } from '../conditions.ts';

/** Policies that mwan3 has without configuration. */
export const BUILT_IN_POLICIES: readonly string[] = ['default', 'unreachable', 'blackhole'];

export const mwan3NameLimit = nameLimit(15, 'mwan3 ignores longer names');
