/**
 * Annotation `sdewan.akraino.org/ports` of a pod: which of its interfaces is which port of the
 * network, as JSON, `[{"interface": "eth0", "port": "<the port's uuid in Neutron>"}]`. Other fields
 * are for others.
 */
import * as z from 'zod';
import { firstIssue } from '../util/first-issue.ts';
import { jsonIn } from '../util/json.ts';

/** What the kernel has as the longest name of an interface. */
const MAX_INTERFACE = 15;
const MAX_PORTS = 16;
/** Characters of the annotation: what is longer is not read. */
export const MAX_PORTS_TEXT = 4_096;

const podPortSchema = z.object({
  interface: z.string().min(1).max(MAX_INTERFACE),
  port: z.guid(),
});
export type PodPort = z.infer<typeof podPortSchema>;

/** `pod`: its uid. `hasRun`: it has, or had, a node. */
export type PortOfPod = PodPort & { pod: string; hasRun?: boolean };

const podPortsSchema = z
  .array(podPortSchema)
  .min(1)
  .max(MAX_PORTS)
  .refine(
    (ports) => new Set(ports.map(({ port }) => port)).size === ports.length,
    'names a port twice',
  );

export type PodPorts = { ports: readonly PodPort[] } | { problem: string };

/** Without the annotation there are none. `problem` says what would be right. */
export const podPortsIn = (text: string | undefined): PodPorts => {
  if (text === undefined) return { ports: [] };
  if (text.length > MAX_PORTS_TEXT)
    return { problem: `must have at most ${MAX_PORTS_TEXT} characters` };
  const parsed = podPortsSchema.safeParse(jsonIn(text));
  if (parsed.success)
    return { ports: parsed.data.map((one) => ({ ...one, port: one.port.toLowerCase() })) };
  return {
    problem: `must be a JSON list such as [{"interface": "eth0", "port": "<uuid>"}] of at most ${MAX_PORTS}: ${firstIssue(parsed.error)}`,
  };
};
