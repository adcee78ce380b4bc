/** The ids of a change's trace. The next coordinator, or one that restarted, finds the same. */
import { createHash } from 'node:crypto';

export type ChangedRule = { uid: string; generation: number };

/** Ids of W3C's form: 32 and 16 hex digits. */
export type TraceIds = { traceId: string; rootId: string };

export const idsOf = ({ uid, generation }: ChangedRule): TraceIds => {
  const digest = createHash('sha256').update(`${uid}/${generation}`).digest('hex');
  return { traceId: digest.slice(0, 32), rootId: digest.slice(32, 48) };
};
