/** The kernel as judge of `sdewan trace`, where this machine has what it takes; elsewhere its recorded judgements are in the unit tests. */
import { missing } from '../trace/kernel/kernel.ts';
import type { Stage } from './stages.ts';

/** Random packets, and random firewalls of which each rule gets the packet that is named for it. */
type Judged = { packets: number; scenes: number };

export const traced = ({ packets, scenes }: Judged): Stage[] => {
  const env = { SDEWAN_TRACE_PACKETS: String(packets), SDEWAN_TRACE_SCENES: String(scenes) };
  const why = missing();
  if (why === undefined) return [{ projects: [{ name: 'trace', env }] }];
  console.log(`traces are judged by recordings of the kernel alone: ${why}`);
  return [];
};
