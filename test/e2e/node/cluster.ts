/** The real node that global-setup.ts started, and what these tests read of its pods. */
import {
  connectCluster,
  type Cluster,
  type ContainerTarget,
  type RealNode,
} from 'kind-test-harness';
import { observePods, readCnf, until } from '../../stack/observe.ts';
import { withOwnNamespaces } from '../../stack/own-namespaces.ts';
import { rejectRule, zone, type Rule } from '../../stack/rules.ts';

export const AGENT = 'sdewan-agent';
export const CNF = 'sdewan';
export const PURPOSE = 'cnf-1';

export type NodeCluster = Cluster & { node: RealNode };

/** To be called in `describe`: namespaces made with it go at its end. */
export const nodeCluster = async (): Promise<NodeCluster> => {
  const cluster = withOwnNamespaces(await connectCluster());
  const { node } = cluster;
  if (!node) throw new Error(`the cluster's pods run on ${cluster.backend}, not on a real node`);
  return { ...cluster, node };
};

export type ContainerStatus = {
  name: string;
  ready: boolean;
  restartCount: number;
  lastState: { terminated?: { reason: string; exitCode: number } };
};
export type Pod = {
  metadata: {
    name: string;
    uid: string;
    labels: Record<string, string>;
    annotations: Record<string, string>;
  };
  spec: object;
  status: {
    phase: string;
    podIP?: string;
    conditions?: { type: string; status: string }[];
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
  };
};

export const getPod = async (cluster: Cluster, namespace: string, name: string): Promise<Pod> => {
  const { stdout } = await cluster.kubectl(['get', 'pod', name, '-n', namespace, '-o', 'json']);
  const pod: Pod = JSON.parse(stdout);
  return pod;
};

export const agentStatus = ({ status }: Pod): ContainerStatus | undefined =>
  status.initContainerStatuses?.find(({ name }) => name === AGENT);

export const agentOf = (namespace: string, pod: string): ContainerTarget => ({
  namespace,
  pod,
  container: AGENT,
});

export const firstPod = async (cluster: Cluster, namespace: string): Promise<string> => {
  const [pod] = await observePods(cluster, namespace, PURPOSE);
  if (!pod) throw new Error(`no pod of ${PURPOSE} in ${namespace}`);
  return pod.name;
};

/** A zone, and `count` rules that need it. */
export const zoneAndRules = (count: number): Rule[] => [
  zone('lan1', 'ovn-net1'),
  ...Array.from({ length: count }, (_, index) => rejectRule(index, 'lan1')),
];

/** How many of the rules of `zoneAndRules` the CNF's firewall file holds. */
export const countRules = async (
  cluster: Cluster,
  namespace: string,
  pod: string,
): Promise<number> => {
  const config = await readCnf(cluster, { namespace, pod });
  const sections = config.get('firewall') ?? [];
  return sections.filter(({ options }) => String(options['src_ip']).startsWith('10.1.')).length;
};

/** Every pod of the CNF is there, Ready, and its file holds exactly `count` rules. */
export const waitForRulesOnAll = async (
  cluster: Cluster,
  namespace: string,
  { pods: podCount, rules }: { pods: number; rules: number },
): Promise<void> => {
  await until(`${rules} rules on ${podCount} pods`, async () => {
    const pods = await observePods(cluster, namespace, PURPOSE);
    if (pods.length !== podCount || pods.some(({ ready, terminating }) => !ready || terminating)) {
      return undefined;
    }
    const counts = await Promise.all(pods.map(({ name }) => countRules(cluster, namespace, name)));
    return counts.every((count) => count === rules) ? true : undefined;
  });
};
