/** The tests' door into the simulator of a pod. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import * as z from 'zod';
import type { Cluster } from 'kind-test-harness';

type Target = { namespace: string; pod: string; container?: string };

/** What it answers. */
export const control = async (
  { cluster }: { cluster: Cluster },
  { namespace, pod, container = 'sdewan' }: Target,
  {
    method,
    route,
    body,
  }: { method: 'GET' | 'POST' | 'DELETE'; route: string; body?: object | undefined },
): Promise<string> => {
  const file = join(cluster.podDirectory(namespace, pod), 'containers', container, 'running.json');
  const { env } = runningSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  const url = `http://${env.KTH_POD_IP}:${env.PORT_80}/_simulator/${route}`;
  // fetch refuses to go to the port that the harness gives to port 80.
  const answer = await request(url, { method, ...(body && { body: JSON.stringify(body) }) });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${method} ${route}: ${text}`);
  return text;
};
const runningSchema = z.object({
  env: z.object({ KTH_POD_IP: z.string(), PORT_80: z.string() }),
});

/** As nft lists the table of policies; '' where there is none. */
export const policyTableOf = async (cluster: Cluster, target: Target): Promise<string> =>
  tableSchema.parse(
    JSON.parse(await control({ cluster }, target, { method: 'GET', route: 'policies' })),
  ).table;
const tableSchema = z.object({ table: z.string() });
