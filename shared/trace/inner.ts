/**
 * What firewall4 writes by itself, called the same in both readings: of its configuration, and of
 * the rules in the kernel.
 */
import type { Origin } from './types.ts';

const inner = (name: string, words: string): Origin => ({ of: 'inner', name, words });

export const LOOPBACK = inner('lo', 'what the CNF sends to itself is accepted');
export const DROP_INVALID = inner('drop_invalid', 'option drop_invalid of section defaults');
export const SYN_FLOOD = inner(
  'syn_flood',
  'protection against floods of new connections (syn_flood)',
);
export const leakageOf = (zone: string): Origin =>
  inner(
    `invalid:${zone}`,
    `zone ${zone} masquerades, so packets that belong to no connection do not leave by it`,
  );
export const translatedIn = (zone: string): Origin =>
  inner(`dnat:${zone}`, `what a DNAT of zone ${zone} has translated is accepted`);
