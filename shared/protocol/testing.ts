/** What an agent answers that has looked at nothing yet. */
import type { Inspection } from './inspection.ts';

export const inspectionWith = (changes: Partial<Inspection> = {}): Inspection => ({
  agent: '0.1.0',
  namespace: 'edge',
  pod: 'cnf-1-a',
  purpose: 'cnf-1',
  at: '2026-01-01T00:00:00.000Z',
  openwrt: { reachable: true, driver: 'ubus', message: '', driftRepairs: 0 },
  paused: false,
  watches: [],
  waitsFor: [],
  packages: [],
  rules: [],
  ...changes,
});
