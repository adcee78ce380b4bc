/**
 * What browsers look at: two namespaces of a real API server with a CNF each, a coordinator that serves the dashboard with no more rights than
 * deploy/dashboard grants, and agents that report what a test gives them.
 */
import { kindOf } from '#shared/resources/registry.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { RuleReport } from '#shared/protocol/report.ts';
import { connectCluster, type Cluster } from 'kind-test-harness';
import { createAgent, type SimulatedAgent } from '../../integration/coordinator/agent.ts';
import { createRunningPod } from '../../integration/coordinator/pods.ts';
import { createWorld, type World } from '../../integration/coordinator/world.ts';
import { installed, listOf, renderWith, type Manifest } from '../../stack/installation.ts';
import { apply } from '../../stack/operator.ts';
import { rule, zone, type Rule } from '../../stack/rules.ts';

const VIEWER_ROLE = 'sdewan-viewer';
export const PURPOSE = 'cnf-1';
/** Stands wherever somebody may write what he likes. */
export const MARKUP = '<script>document.title = "taken over"</script><img src=x onerror=alert(1)>';
/** Stands in everything of the namespace that not everybody may see. */
export const SECRET = 'hush';

export type Scene = {
  world: World;
  url: string;
  /** Namespaces: that of the viewer, and the other one. */
  home: string;
  other: string;
  /** Tokens: of who may see both, and of who may see `home` alone. */
  admin: string;
  viewer: string;
  /** Of the pods in `home`. */
  agents: readonly SimulatedAgent[];
  /** All rules of `home` are applied, but for those with words of the agent. */
  report: (words?: Readonly<Record<string, Partial<RuleReport>>>) => Promise<void>;
  close: () => Promise<void>;
};

const homeRules: readonly Rule[] = [
  zone('lan1', 'ovn-net1'),
  zone('wan1', 'ovn-net2'),
  rule('FirewallForwarding', 'lan1-to-wan1', { src: 'lan1', dest: 'wan1' }),
  rule('FirewallRule', 'web', {
    name: MARKUP,
    src: 'wan1',
    proto: 'tcp',
    dest_port: '443',
    target: 'ACCEPT',
  }),
  rule('FirewallRule', 'broken', { src: 'lan1', proto: 'tcp', dest_port: '80', target: 'REJECT' }),
  rule('FirewallDNAT', 'portal', {
    src: 'wan1',
    proto: 'tcp',
    src_dport: '8080',
    dest: 'lan1',
    dest_ip: '192.168.1.10',
    dest_port: '80',
    target: 'DNAT',
  }),
];
const otherRules: readonly Rule[] = [
  zone(`${SECRET}-zone`, 'ovn-net1', `${SECRET}-cnf`),
  rule(
    'FirewallRule',
    `${SECRET}-rule`,
    { src: `${SECRET}-zone`, target: 'REJECT' },
    `${SECRET}-cnf`,
  ),
];

export const createScene = async ({ silentAfterMs }: { silentAfterMs: number }): Promise<Scene> => {
  const cluster = await connectCluster();
  const grants = await dashboardGrants(cluster);
  const world = await createWorld({
    grants,
    silentAfterMs,
    env: { SDEWAN_WATCH_NAMESPACE: '', SDEWAN_DASHBOARD_URL: 'http://127.0.0.1:0' },
  });
  const home = world.namespace;
  const other = await cluster.createNamespace(`${SECRET}-namespace`);
  const url = world.coordinator.dashboardUrl;
  if (url === undefined) throw new Error('the coordinator serves no dashboard');

  await apply(cluster, home, ...homeRules.map(noted));
  await apply(cluster, other, ...otherRules);
  const agents = await agentsIn(world, home, { names: ['cnf-1-a', 'cnf-1-b'], purpose: PURPOSE });
  const hidden = `${SECRET}-cnf`;
  const others = await agentsIn(world, other, { names: [`${SECRET}-pod`], purpose: hidden });

  const report: Scene['report'] = async (words = {}) => {
    const rules = await rulesIn(world, home, homeRules);
    for (const agent of agents)
      await agent.says(
        ...rules.map((each) => {
          const word = words[each.metadata.name];
          return [each, word?.state ?? 'Applied', word ?? {}] as const;
        }),
      );
  };
  const hiddenRules = await rulesIn(world, other, otherRules);
  for (const agent of others)
    await agent.says(
      ...hiddenRules.map((each) => [each, 'Failed', { message: `${SECRET} message` }] as const),
    );
  return {
    world,
    url,
    home,
    other,
    admin: await account(cluster, home, { name: 'admin', everywhere: true }),
    viewer: await account(cluster, home, { name: 'viewer', everywhere: false }),
    agents,
    report,
    close: async () => {
      for (const agent of [...agents, ...others]) await agent.close();
      await world.close();
    },
  };
};

/** Those of the component, without its Deployment; and what is seen by whoever is bound to it. */
export const dashboardGrants = async (cluster: Cluster): Promise<Manifest[]> => {
  const component = (await renderWith(cluster, ['dashboard'])).filter(
    ({ kind, metadata }) =>
      ['ClusterRole', 'ClusterRoleBinding', 'ServiceAccount'].includes(kind) &&
      metadata.name.startsWith('sdewan-dashboard'),
  );
  return [...component, await installed(cluster, 'ClusterRole', VIEWER_ROLE)];
};

const noted = (each: Rule): Rule => ({
  ...each,
  metadata: { ...each.metadata, annotations: { 'example.org/note': MARKUP } },
});

const agentsIn = async (
  world: World,
  namespace: string,
  { names, purpose }: { names: readonly string[]; purpose: string },
): Promise<SimulatedAgent[]> => {
  const agents: SimulatedAgent[] = [];
  for (const name of names) {
    const pod = await createRunningPod(world, { name, namespace, purpose });
    agents.push(await createAgent(world, pod, { purpose }));
  }
  return agents;
};

/** As the API server has them. */
const rulesIn = (
  { client }: World,
  namespace: string,
  rules: readonly Rule[],
): Promise<RuleObject[]> =>
  Promise.all(
    rules.map(async ({ kind, metadata: { name } }) => {
      const definition = kindOf(kind);
      if (!definition) throw new Error(`no kind ${kind}`);
      return client.get(definition, { namespace, name });
    }),
  );

/** A service account with the viewer's role, and its token. */
export const account = async (
  cluster: Cluster,
  namespace: string,
  { name, everywhere }: { name: string; everywhere: boolean },
): Promise<string> => {
  const metadata = { name: `${name}-${namespace}`, namespace };
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: everywhere ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: VIEWER_ROLE },
    subjects: [{ kind: 'ServiceAccount', name: metadata.name, namespace }],
  };
  const objects = [{ apiVersion: 'v1', kind: 'ServiceAccount', metadata }, binding];
  await cluster.kubectl(['apply', '-f', '-'], { stdin: listOf(objects) });
  const { stdout } = await cluster.kubectl(['create', 'token', metadata.name, '-n', namespace]);
  return stdout.trim();
};
