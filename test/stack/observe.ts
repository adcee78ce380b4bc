/**
 * One look at everything: rules and pods on the API server, and the CNFs' own files. Read from the
 * outside only (its API and config files), so that it can judge the product.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { Cluster } from 'kind-test-harness';
import type { CnfConfig } from '../openwrt/checks/seed-rules.ts';
import { readUci } from '../openwrt/checks/uci.ts';
import { podsPath, ruleCollections } from './collections.ts';

const LOOK_EVERY_MS = 200;
const CNF_CONTAINER = 'sdewan';
const PACKAGES = ['firewall', 'mwan3', 'ipsec'];

const list = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item) });

const rule = z.object({
  kind: z.string(),
  metadata: z.object({
    name: z.string(),
    deletionTimestamp: z.string().optional(),
    finalizers: z.array(z.string()).optional(),
  }),
  status: z
    .object({
      inSync: z.boolean().optional(),
      message: z.string().optional(),
      appliedVersion: z.string().optional(),
      appliedTime: z.string().optional(),
    })
    .optional(),
});
export type ObservedRule = z.infer<typeof rule>;

const containers = z.array(z.object({ name: z.string(), restartCount: z.number() })).optional();
const pod = z.object({
  metadata: z.object({
    name: z.string(),
    uid: z.string(),
    deletionTimestamp: z.string().optional(),
  }),
  status: z.object({
    conditions: z.array(z.object({ type: z.string(), status: z.string() })).optional(),
    containerStatuses: containers,
    initContainerStatuses: containers,
  }),
});

export type ObservedPod = {
  name: string;
  uid: string;
  /** By the pod's own status, as the kubelet wrote it. */
  ready: boolean;
  terminating: boolean;
  /** By container. */
  restarts: Readonly<Record<string, number>>;
};

/** @throws ZodError where the object is no pod */
export const podOf = (object: unknown): ObservedPod => {
  const { metadata, status } = pod.parse(object);
  const { conditions = [], containerStatuses = [], initContainerStatuses = [] } = status;
  return {
    name: metadata.name,
    uid: metadata.uid,
    ready: conditions.some((each) => each.type === 'Ready' && each.status === 'True'),
    terminating: metadata.deletionTimestamp !== undefined,
    restarts: Object.fromEntries(
      [...initContainerStatuses, ...containerStatuses].map((each) => [
        each.name,
        each.restartCount,
      ]),
    ),
  };
};

export const ruleId = ({ kind, metadata }: Pick<ObservedRule, 'kind' | 'metadata'>): string =>
  `${kind}/${metadata.name}`;

const EMPTY = { items: [] };

export const observeRules = async (
  { api }: Cluster,
  namespace: string,
): Promise<ObservedRule[]> => {
  const collections = await ruleCollections(api, namespace);
  const lists = await Promise.all(
    // A CRD can go between the two requests.
    collections.map(async ({ path }) => list(rule).parse((await api.find(path)) ?? EMPTY)),
  );
  return lists.flatMap(({ items }) => items);
};

export const observePods = async (
  { api }: Cluster,
  namespace: string,
  purpose: string,
): Promise<ObservedPod[]> => {
  const path = `${podsPath(namespace)}?labelSelector=sdewanPurpose%3D${purpose}`;
  return list(z.unknown())
    .parse((await api.find(path)) ?? EMPTY)
    .items.map(podOf);
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

/** Only what hangs is ended: a wait costs no time where what it waits for comes. */
export const PATIENCE_MS = 600_000;

export type UntilOptions = {
  what: string;
  /** Absent: PATIENCE_MS. */
  timeoutMs?: number;
  /** What to wait for between two looks. Absent: 200 ms. */
  next?: () => Promise<void>;
};

/**
 * Looks until there is something other than undefined. @throws Error naming `what` after
 * `timeoutMs`.
 */
export const lookUntil = async <T>(
  { what, timeoutMs = PATIENCE_MS, next = () => sleep(LOOK_EVERY_MS) }: UntilOptions,
  look: () => Promise<T | undefined>,
): Promise<T> => {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs / 1000} s: ${what}`);
    await next();
  }
};

export const until = <T>(what: string, look: () => Promise<T | undefined>): Promise<T> =>
  lookUntil({ what }, look);
