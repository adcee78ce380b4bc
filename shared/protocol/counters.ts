/**
 * What network devices of a pod have carried, and what NetworkPolicies have denied there: for the
 * CNF of a pod of a CNFDeployment, never for a decision. Apart from what is known of its OpenWRT,
 * which changes only when something happens.
 */
import * as z from 'zod';
import { plainText } from '../util/plain-text.ts';

export const MAX_COUNTED_DEVICES = 64;
export const MAX_DENIED = 32;
/** The policy of those that are not listed one by one. */
export const OTHER_POLICIES = 'other';

const word = (max: number) => z.string().max(max).overwrite(plainText);
const count = () => z.int().min(0);

export const deviceCountersSchema = z.object({
  name: word(15).describe('As the kernel calls it.'),
  rxBytes: count(),
  rxPackets: count(),
  rxDropped: count().describe('Those that were missed among them.'),
  txBytes: count(),
  txPackets: count(),
  txDropped: count(),
});
export type DeviceCounters = z.infer<typeof deviceCountersSchema>;

export const deniedSchema = z.object({
  policy: word(320).describe(
    `Namespace and name, with a slash between them; \`${OTHER_POLICIES}\`: those that are not listed.`,
  ),
  direction: z.enum(['ingress', 'egress']),
  packets: count(),
});
export type Denied = z.infer<typeof deniedSchema>;

export const countersSchema = z.object({
  interfaces: z
    .array(deviceCountersSchema)
    .max(MAX_COUNTED_DEVICES)
    .describe(
      'Network devices of the pod but loopback, since the pod began. None where OpenWRT is elsewhere.',
    ),
  denied: z
    .array(deniedSchema)
    .max(MAX_DENIED)
    .describe('By NetworkPolicies, since the agent began; those with most packets first.'),
});
export type Counters = z.infer<typeof countersSchema>;
