/** A cluster whose API server keeps a record of what the coordinators write, for benchmarks that count it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startCluster, type Cluster, type ImageProcess } from 'kind-test-harness';
import * as z from 'zod';
import { images } from '../stack/images.ts';
import { setup as buildPrograms } from '../stack/programs.ts';

const COORDINATOR = 'system:serviceaccount:sdewan-system:sdewan-coordinator';
/** What it writes whether or not there is a CNFDeployment. */
const ASIDE = new Set(['leases', 'tokenreviews', 'subjectaccessreviews']);

const auditSchema = z.object({
  verb: z.string(),
  objectRef: z.object({ resource: z.string(), subresource: z.string().optional() }).optional(),
});

export type AuditedCluster = {
  cluster: Cluster;
  /** Of the coordinators since the beginning, by resource, without Leases and reviews. */
  writes: () => Record<string, number>;
  stop: () => Promise<void>;
};

/** Of roll-outs. */
const OF_FLEETS = new Set([
  'cnfdeployments',
  'cnfdeployments/status',
  'cnfsets',
  'cnfsets/status',
  'cnfs',
  'cnfs/status',
  'deployments',
  'pods',
  'pods/status',
]);

/** Events are apart, since they tell people what was done; so are statuses of rules, which follow the pods with any Deployment. */
export const total = (counted: Readonly<Record<string, number>>) => ({
  writes: Object.entries(counted)
    .filter(([resource]) => OF_FLEETS.has(resource))
    .reduce((sum, [, one]) => sum + one, 0),
  events: counted['events'] ?? 0,
});

export const startAudited = async (
  more: Readonly<Record<string, ImageProcess>> = {},
): Promise<AuditedCluster> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'sdewan-bench-'));
  const log = path.join(folder, 'audit.log');
  const policy = path.join(folder, 'policy.yaml');
  const rules = [
    { level: 'Metadata', users: [COORDINATOR], verbs: ['create', 'update', 'patch', 'delete'] },
    { level: 'None' },
  ];
  const document = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules,
  };
  writeFileSync(policy, JSON.stringify(document));
  await buildPrograms();
  const cluster = await startCluster({
    onProgress: console.log,
    images: { ...images({ watch: false }), ...more },
    apiServerArguments: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`],
  });
  return {
    cluster,
    writes: () => {
      const lines = readFileSync(log, 'utf8').trim().split('\n');
      const resources = lines
        .filter((line) => line !== '')
        .map((line) => auditSchema.parse(JSON.parse(line)).objectRef)
        .filter((of) => of !== undefined && !ASIDE.has(of.resource))
        .map((of) => [of?.resource, of?.subresource].filter(Boolean).join('/'));
      const counted = Map.groupBy(resources, (one) => one);
      return Object.fromEntries([...counted].map(([one, all]) => [one, all.length]));
    },
    stop: async () => {
      await cluster.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
