/**
 * One look at the whole: what kubectl says of the rules and pods, and what the CNFs' own files hold. Read from the outside
 * only (kubectl and config files), so that it can judge the product.
 */
import { z } from 'zod';
import type { Cluster } from 'kind-test-harness';
import type { CnfConfig } from '../judge/seed-rules.ts';
import { readUci } from '../judge/uci.ts';

const CNF_CONTAINER = 'sdewan';
const PACKAGES = ['firewall', 'mwan3', 'ipsec'];

const ruleList = z.object({
  items: z.array(
    z.object({
      kind: z.string(),
      metadata: z.object({ name: z.string(), deletionTimestamp: z.string().optional() }),
      status: z
        .object({
          inSync: z.boolean().optional(),
          message: z.string().optional(),
          appliedVersion: z.string().optional(),
          appliedTime: z.string().optional(),
        })
        .optional(),
    }),
  ),
});
export type ObservedRule = z.infer<typeof ruleList>['items'][number];

const podList = z.object({
  items: z.array(
    z.object({
      metadata: z.object({
        name: z.string(),
        uid: z.string(),
        deletionTimestamp: z.string().optional(),
      }),
      status: z.object({
        phase: z.string().optional(),
        conditions: z.array(z.object({ type: z.string(), status: z.string() })).optional(),
      }),
    }),
  ),
});

export type ObservedPod = { name: string; uid: string; ready: boolean; terminating: boolean };

export const ruleId = ({ kind, metadata }: ObservedRule): string => `${kind}/${metadata.name}`;

export const observeRules = async (
  cluster: Cluster,
  namespace: string,
): Promise<ObservedRule[]> => {
  const { stdout, stderr, code } = await cluster.kubectl(
    ['get', 'sdewan', '-n', namespace, '-o', 'json'],
    { allowFailure: true },
  );
  // kubectl remembers for a while which kinds there were: after a CRD went, it has to be asked again.
  if (code !== 0 && stderr.includes("doesn't have a resource type")) return [];
  if (code !== 0) throw new Error(stderr);
  return ruleList.parse(JSON.parse(stdout)).items;
};

export const observePods = async (
  cluster: Cluster,
  namespace: string,
  purpose: string,
): Promise<ObservedPod[]> => {
  const selector = `sdewanPurpose=${purpose}`;
  const { stdout } = await cluster.kubectl([
    'get',
    'pods',
    '-n',
    namespace,
    '-l',
    selector,
    '-o',
    'json',
  ]);
  return podList.parse(JSON.parse(stdout)).items.map(({ metadata, status }) => ({
    name: metadata.name,
    uid: metadata.uid,
    ready: (status.conditions ?? []).some((c) => c.type === 'Ready' && c.status === 'True'),
    terminating: metadata.deletionTimestamp !== undefined,
  }));
};

/** The text of one file of a CNF's OpenWRT; undefined while it, or the container, is not there. */
export const readCnfFile = async (
  cluster: Cluster,
  target: { namespace: string; pod: string },
  path: string,
): Promise<string | undefined> => {
  try {
    return await cluster.readFile({ ...target, container: CNF_CONTAINER }, path);
  } catch {
    return undefined;
  }
};

/** The text of one file of a CNF's /etc/config. */
export const readConfigFile = (
  cluster: Cluster,
  target: { namespace: string; pod: string },
  file: string,
): Promise<string | undefined> => readCnfFile(cluster, target, `/etc/config/${file}`);

export const readCnf = async (
  cluster: Cluster,
  target: { namespace: string; pod: string },
): Promise<CnfConfig> => {
  const packages = await Promise.all(
    PACKAGES.map(async (name) => {
      const text = await readConfigFile(cluster, target, name);
      return [name, text === undefined ? [] : readUci(text)] as const;
    }),
  );
  return new Map(packages);
};

/** Polls until `look` gives something other than undefined. @throws Error naming `what` after `timeoutMs`. */
export const until = async <T>(
  what: string,
  timeoutMs: number,
  look: () => Promise<T | undefined>,
): Promise<T> => {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs / 1000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
};
