/** What has ever happened to the configuration of a pod's OpenWRT, as it says itself. */
import { get } from 'node:http';
import { json } from 'node:stream/consumers';
import type { Cluster } from 'kind-test-harness';
import * as z from 'zod';

const journalSchema = z.array(
  z.looseObject({
    seq: z.number(),
    ms: z.number(),
    event: z.string(),
    package: z.string().optional(),
    text: z.string().optional(),
  }),
);
export type Journal = z.infer<typeof journalSchema>;

export const journalOf = async (
  cluster: Cluster,
  namespace: string,
  pod: string,
): Promise<Journal> => {
  const ip = ['get', 'pod', pod, '-n', namespace, '-o', 'jsonpath={.status.podIP}'];
  const { stdout: host } = await cluster.kubectl(ip);
  return new Promise((resolve, reject) => {
    const options = { host, port: 10_080, path: '/_simulator/journal', timeout: 10_000 };
    const sent = get(options, (response) => {
      json(response).then((value) => resolve(journalSchema.parse(value)), reject);
    });
    sent.on('error', reject);
    sent.on('timeout', () => sent.destroy(new Error('timeout')));
  });
};
