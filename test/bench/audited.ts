/**
 * A cluster whose API server keeps a record of what the coordinators write, for benchmarks that
 * count it.
 */
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
  requestReceivedTimestamp: z.string(),
  objectRef: z
    .object({
      namespace: z.string().optional(),
      resource: z.string(),
      subresource: z.string().optional(),
      name: z.string().optional(),
    })
    .optional(),
  responseStatus: z.object({ code: z.number().optional() }).optional(),
  requestObject: z.unknown().optional(),
});

/** One write of an object of a roll-out. */
export type JournalLine = {
  /** Wall-clock milliseconds. */
  at: number;
  verb: string;
  code: number | undefined;
  resource: string;
  name: string;
  /** In which fields it differs from the write of that object before it. */
  fields: string[];
};

export type AuditedCluster = {
  cluster: Cluster;
  /**
   * Requests of the coordinators since the beginning, by resource, and the code of those that were
   * refused; without Leases and reviews.
   */
  writes: () => Record<string, number>;
  /** Those of roll-outs, in their order. */
  journal: () => JournalLine[];
  stop: () => Promise<void>;
};

/** Times of roll-outs. */
const OF_FLEETS = new Set([
  'cnfdeployments',
  'cnfdeployments/status',
  'cnfsets',
  'cnfs',
  'deployments',
  'pods',
  'pods/status',
]);

/**
 * Events are apart, since they tell people what was done; so are statuses of rules, which follow
 * the pods with any Deployment.
 */
export const total = (counted: Readonly<Record<string, number>>) => ({
  writes: Object.entries(counted)
    .filter(([resource]) => OF_FLEETS.has(resource.split(' ')[0] ?? ''))
    .reduce((sum, [, one]) => sum + one, 0),
  events: counted['events'] ?? 0,
});

const BODIES = [
  { group: 'fleet.sdewan.akraino.org' },
  { group: 'apps', resources: ['deployments'] },
  { group: '', resources: ['pods', 'pods/status'] },
];

type Audited = z.infer<typeof auditSchema>;

const resourceOf = ({ objectRef }: Audited): string =>
  [objectRef?.resource, objectRef?.subresource].filter(Boolean).join('/');

const journalOf = (audited: readonly Audited[]): JournalLine[] => {
  const before = new Map<string, ReadonlyMap<string, string>>();
  return audited
    .filter((one) => OF_FLEETS.has(resourceOf(one)))
    .map((one) => {
      const resource = resourceOf(one);
      const { name = '', namespace } = one.objectRef ?? {};
      const key = [resource, namespace, name].join(' ');
      const was = before.get(key) ?? new Map<string, string>();
      const is = fieldsOf(one.requestObject);
      before.set(key, is);
      const fields = [...new Set([...was.keys(), ...is.keys()])].filter(
        (field) => was.get(field) !== is.get(field),
      );
      const at = Date.parse(one.requestReceivedTimestamp);
      return { at, verb: one.verb, code: one.responseStatus?.code, resource, name, fields };
    });
};

const keyed = z.array(z.looseObject({ type: z.string() })).min(1);
const record = z.record(z.string(), z.unknown());

/** Path -> value as JSON. Conditions are named by their types; other lists are one value. */
const fieldsOf = (value: unknown, path = ''): Map<string, string> => {
  const list = keyed.safeParse(value);
  const fields = list.success
    ? Object.fromEntries(list.data.map((one) => [one.type, one]))
    : record.safeParse(value).data;
  if (fields === undefined || path.startsWith('.metadata.'))
    return new Map(VERSION.test(path) ? [] : [[path, JSON.stringify(value)]]);
  return new Map(
    Object.entries(fields).flatMap(([name, one]) => [...fieldsOf(one, `${path}.${name}`)]),
  );
};
const VERSION = /^\.metadata\.(resourceVersion|uid)$/;

export const startAudited = async (
  more: Readonly<Record<string, ImageProcess>> = {},
): Promise<AuditedCluster> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'sdewan-bench-'));
  const log = path.join(folder, 'audit.log');
  const policy = path.join(folder, 'policy.yaml');
  const own = { users: [COORDINATOR], verbs: ['create', 'update', 'patch', 'delete'] };
  const rules = [
    { level: 'Request', ...own, resources: BODIES },
    { level: 'Metadata', ...own },
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
  const read = (): Audited[] =>
    readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => auditSchema.parse(JSON.parse(line)));
  return {
    cluster,
    journal: () => journalOf(read()),
    writes: () => {
      const resources = read()
        .filter(({ objectRef: of }) => of !== undefined && !ASIDE.has(of.resource))
        .map((one) => {
          const code = one.responseStatus?.code ?? 0;
          return code < 400 ? resourceOf(one) : `${resourceOf(one)} ${code}`;
        });
      const counted = Map.groupBy(resources, (one) => one);
      return Object.fromEntries([...counted].map(([one, all]) => [one, all.length]));
    },
    stop: async () => {
      await cluster.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
