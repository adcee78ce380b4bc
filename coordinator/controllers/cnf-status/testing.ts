/** What may be known of a pod, for unit tests. */
import type { ReportedPod } from './status.ts';

export const knownPod = (name: string, changes: Partial<ReportedPod> = {}): ReportedPod => ({
  name,
  namespace: 'edge',
  purpose: 'cnf-1',
  node: 'node-1',
  ip: '10.1.1.1',
  ready: true,
  notReady: '',
  ownerless: false,
  problem: undefined,
  reported: undefined,
  ...changes,
});
