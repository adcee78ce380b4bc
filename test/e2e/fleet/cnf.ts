/**
 * A CNFDeployment of the seed's CNF with traffic, as an operator applies it; what people see of it;
 * and clients that count what is lost.
 */
import { readFile } from 'node:fs/promises';
import { get } from 'node:http';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { Cluster } from 'kind-test-harness';
import { cnfObjects } from '../../stack/cnf.ts';
import { CNF_IMAGE } from '../../stack/images.ts';
import { apply } from '../../stack/operator.ts';
import { until } from '../../stack/observe.ts';
import { rejectRule, rule, zone, type Rule } from '../../stack/rules.ts';

export const TRAFFIC_IMAGE = 'traffic:dev';
export const PURPOSE = 'cnf-1';
export const RULES = 200;
const PORT = 9_000;

/**
 * What `traffic-server.ts` looks for: the firewall of all rules, and a policy that waits for its
 * interface.
 */
export const trafficRules = (): Rule[] => [
  zone('lan1', 'ovn-net1'),
  ...Array.from({ length: RULES }, (_, index) => rejectRule(index, 'lan1')),
  policyOn('late', 'ovn-net3'),
];

/** Applied where mwan3 has the interface of that network. */
export const policyOn = (name: string, network: string): Rule =>
  rule('Mwan3Policy', name, { members: [{ network, metric: 1, weight: 1 }] });

const deploymentSchema = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({
    selector: z.looseObject({}),
    template: z.looseObject({
      metadata: z.looseObject({ annotations: z.record(z.string(), z.string()) }),
      spec: z.looseObject({
        containers: z.array(z.looseObject({})),
        volumes: z.array(z.looseObject({})),
      }),
    }),
  }),
});

export type FleetCnf = {
  namespace: string;
  replicas: number;
  /** The label of the template: another one is another set. */
  version: string;
  /** When the interface comes after the first pass, milliseconds; below zero: never. */
  lateMs: number;
  /**
   * How many rejecting rules the container with traffic waits for. Default: all of `trafficRules`.
   */
  rules?: number;
  /** The name of the container with traffic. */
  image?: string;
  /** Conditions that another program would have to set before its pods are Ready. */
  readinessGates?: readonly string[];
  /** More of the spec of the CNFDeployment. */
  spec?: object;
};

const MORE_NETWORKS = ['net3', 'net4', 'net5', 'net6']
  .map((name) => `, { "defaultGateway": "false", "interface": "${name}", "name": "ovn-${name}" }`)
  .join('');

type Workload = { others: object[]; deployment: z.infer<typeof deploymentSchema> };

const SERVER = 'traffic-server.ts';
const SCRIPT = { name: 'traffic-server', mountPath: '/traffic' };

/**
 * The container with traffic on a real node: the program in an image that has Node, beside an
 * OpenWRT on its own port.
 */
const inContainer = {
  image: CNF_IMAGE,
  command: ['/usr/local/bin/node', `${SCRIPT.mountPath}/${SERVER}`],
  volumeMounts: [SCRIPT],
  env: [
    { name: 'KTH_POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    { name: 'TRAFFIC_OPENWRT_PORT', value: '80' },
  ],
};

const script = async (): Promise<object> => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: SCRIPT.name },
  data: { [SERVER]: await readFile(path.join(import.meta.dirname, SERVER), 'utf8') },
});

const workload = async (
  { backend }: Cluster,
  { namespace, replicas, version, lateMs, rules = RULES, image, readinessGates = [] }: FleetCnf,
): Promise<Workload> => {
  const isNode = backend === 'node';
  const objects = await cnfObjects({ namespace, purpose: PURPOSE, replicas });
  const deployment = deploymentSchema.parse(objects.at(-1));
  const { template } = deployment.spec;
  const { annotations } = template.metadata;
  const networks = 'k8s.plugin.opnfv.org/nfn-network';
  annotations[networks] = (annotations[networks] ?? '').replace(
    /(\}) \] \}$/,
    `$1${MORE_NETWORKS} ] }`,
  );
  annotations['version'] = version;
  // The seed's CNF is bound to one node.
  delete template.spec['nodeSelector'];
  template.spec['readinessGates'] = readinessGates.map((conditionType) => ({ conditionType }));
  const variables = { TRAFFIC_RULES: rules, TRAFFIC_LATE_MS: lateMs };
  const { env = [], ...container } = isNode ? inContainer : { image: TRAFFIC_IMAGE };
  template.spec.containers.push({
    name: 'traffic',
    ...container,
    ...(image !== undefined && { image }),
    ports: [{ containerPort: PORT }],
    env: [
      ...env,
      ...Object.entries(variables).map(([name, value]) => ({ name, value: String(value) })),
    ],
  });
  const others = objects.slice(0, -1);
  if (!isNode) return { others, deployment };
  template.spec.volumes.push({ name: SCRIPT.name, configMap: { name: SCRIPT.name } });
  return { others: [...others, await script()], deployment };
};

/** The right to roll CNFs in the namespace, as an operator gives it. */
export const mayRoll = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name: 'sdewan-fleet' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'sdewan-fleet' },
  subjects: [{ kind: 'ServiceAccount', name: 'sdewan-coordinator', namespace: 'sdewan-system' }],
};

const service = (selector: object) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'traffic' },
  spec: { selector, ports: [{ port: PORT, targetPort: PORT }] },
});

export const applyFleet = async (
  cluster: Cluster,
  cnf: FleetCnf,
  selector: object = { sdewanPurpose: PURPOSE },
): Promise<void> => {
  const { others, deployment } = await workload(cluster, cnf);
  const { template, selector: pods } = deployment.spec;
  await apply(cluster, cnf.namespace, ...others, mayRoll, service(selector), {
    apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
    kind: 'CNFDeployment',
    metadata: { name: PURPOSE },
    spec: { replicas: cnf.replicas, selector: pods, template, soakSeconds: 1, ...cnf.spec },
  });
};

/** The same CNF as a Deployment of people, with the same strategy and no gate. */
export const applyPlain = async (cluster: Cluster, cnf: FleetCnf): Promise<void> => {
  const { others, deployment } = await workload(cluster, cnf);
  const strategy = {
    type: 'RollingUpdate',
    rollingUpdate: { maxSurge: '100%', maxUnavailable: 0 },
  };
  const spec = { ...deployment.spec, strategy, minReadySeconds: 3 };
  await apply(cluster, cnf.namespace, ...others, mayRoll, service({ sdewanPurpose: PURPOSE }), {
    ...deployment,
    spec,
  });
};

const seenSchema = z.object({
  metadata: z.object({ generation: z.number() }),
  status: z
    .object({
      observedGeneration: z.number().optional(),
      stage: z.string().optional(),
      inSyncReplicas: z.number().optional(),
      readyReplicas: z.number().optional(),
      currentRevision: z.string().optional(),
      stagedRevision: z.string().optional(),
      failedRevision: z.string().optional(),
      waitsFor: z.array(z.string()).optional(),
      excused: z.array(z.string()).optional(),
      distances: z
        .array(z.object({ pod: z.string(), distance: z.number(), confirmed: z.boolean() }))
        .optional(),
      message: z.string().optional(),
      conditions: z
        .array(z.object({ type: z.string(), status: z.string(), message: z.string() }))
        .optional(),
    })
    .default({}),
});
export type SeenFleet = z.infer<typeof seenSchema>['status'];

export const seenFleet = async ({ api }: Cluster, namespace: string): Promise<SeenFleet> => {
  const path = `/apis/fleet.sdewan.akraino.org/v1alpha1/namespaces/${namespace}/cnfdeployments/${PURPOSE}`;
  const { metadata, status } = seenSchema.parse(await api.find(path));
  return status.observedGeneration === metadata.generation ? status : {};
};

/** As people see them. */
export const eventsOf = async (
  cluster: Cluster,
  namespace: string,
  reason: string,
): Promise<string> => {
  const of = ['--field-selector', `involvedObject.kind=CNFDeployment,reason=${reason}`];
  const { stdout } = await cluster.kubectl(['get', 'events', '-n', namespace, ...of]);
  return stdout;
};

export const waitForFleet = async (
  cluster: Cluster,
  namespace: string,
  what: string,
  holds: (seen: SeenFleet) => boolean,
): Promise<SeenFleet> => {
  let last: SeenFleet = {};
  try {
    return await until(what, async () => {
      last = await seenFleet(cluster, namespace);
      return holds(last) ? last : undefined;
    });
  } catch (error) {
    throw new Error(`${what}; last seen: ${JSON.stringify(last)}`, { cause: error });
  }
};

/** One set serves, and each of its pods has every rule. */
export const serves =
  (replicas: number, before?: string) =>
  ({ stage, inSyncReplicas, currentRevision }: SeenFleet): boolean =>
    stage === 'Current' && inSyncReplicas === replicas && currentRevision !== before;

export type Traffic = {
  /** Ends the clients: how many requests were made, and what became of those that were lost. */
  stop: () => Promise<{
    requests: number;
    lost: string[];
    /** Addresses of the pods that have answered. */
    servedBy: ReadonlySet<string>;
  }>;
};

const EVERY_MS = 5;
const IN_FLIGHT = 32;
/**
 * What is lost never comes; a pod that shares two cores with seventy processes was seen to answer
 * after a minute.
 */
const ANSWER_MS = 120_000;

/**
 * 200 requests a second through the Service, each on a connection of its own, as far as the machine
 * can.
 */
export const startTraffic = async (cluster: Cluster, namespace: string): Promise<Traffic> => {
  const name = ['get', 'service', 'traffic', '-n', namespace, '-o', 'jsonpath={.spec.clusterIP}'];
  const { stdout: host } = await cluster.kubectl(name);
  const lost: string[] = [];
  const servedBy = new Set<string>();
  const flying = new Set<Promise<void>>();
  let requests = 0;
  const over = new AbortController();
  const request = (): Promise<void> =>
    new Promise((resolve) => {
      const sentAt = new Date();
      let connected = 'never connected';
      const sent = get({ host, port: PORT, agent: false, timeout: ANSWER_MS }, (response) => {
        const { statusCode } = response;
        text(response).then((body) => {
          if (statusCode === 200) servedBy.add(body);
          else lost.push(`${statusCode} of ${body} (${sentAt.toISOString()})`);
          return resolve();
        }, fail);
      });
      const fail = (error: Error): void => {
        lost.push(`${error.message} (${sentAt.toISOString()}, ${connected})`);
        resolve();
      };
      sent.on('error', fail);
      sent.on('socket', (socket) =>
        socket.on('connect', () => {
          connected = `from port ${socket.localPort} after ${Date.now() - sentAt.getTime()} ms`;
        }),
      );
      sent.on('timeout', () => sent.destroy(new Error('timeout')));
    });
  const run = async (): Promise<void> => {
    while (!over.signal.aborted) {
      if (flying.size < IN_FLIGHT) {
        requests += 1;
        const one = request().finally(() => flying.delete(one));
        flying.add(one);
      }
      await sleep(EVERY_MS);
    }
    await Promise.all(flying);
  };
  const running = run();
  return {
    stop: async () => {
      over.abort();
      await running;
      return { requests, lost, servedBy };
    },
  };
};

/** The Service answers 200, ten times in a row. */
export const untilTraffic = async (cluster: Cluster, namespace: string): Promise<void> => {
  await until('requests pass', async () => {
    const traffic = await startTraffic(cluster, namespace);
    await sleep(100);
    const { lost } = await traffic.stop();
    return lost.length === 0 ? true : undefined;
  });
};
