/**
 * What browsers look at: a namespace of a real API server with a CNF, a coordinator that serves the
 * dashboard with no more rights than deploy/dashboard grants, and agents that report what a test
 * gives them.
 */
import { kindOf } from '#shared/resources/registry.ts';
import type { Information } from '#shared/protocol/information.ts';
import type { RuleReport } from '#shared/protocol/report.ts';
import { connectCluster, type Cluster } from 'kind-test-harness';
import { createAgent, type SimulatedAgent } from '../../../integration/coordinator/agent.ts';
import { createRunningPod } from '../../../integration/coordinator/pods.ts';
import { createFixture, type Fixture } from '../../../integration/coordinator/fixture.ts';
import { installed, listOf, renderWith, type Manifest } from '../../../stack/installation.ts';
import { apply } from '../../../stack/operator.ts';
import { rule, zone, type Rule } from '../../../stack/rules.ts';

const VIEWER_ROLE = 'sdewan-viewer';
export const PURPOSE = 'cnf-1';
/** Stands wherever a user may write any text. */
export const MARKUP = '<script>document.title = "taken over"</script><img src=x onerror=alert(1)>';

export type Scene = {
  fixture: Fixture;
  url: string;
  /** Namespace. */
  home: string;
  /** Tokens: of a user that sees all, and of one that sees `home` alone. */
  admin: string;
  viewer: string;
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

const INFORMATION: Information = {
  interfaces: [],
  routes: [],
  wans: [
    { interface: 'ovn_net2', up: true, status: 'online' },
    { interface: 'ovn_net3', up: false, status: 'offline' },
  ],
  tunnels: [{ name: 'hub-main', up: true, state: 'ESTABLISHED' }],
  leftOut: 0,
};

export const createScene = async ({ silentAfterMs }: { silentAfterMs: number }): Promise<Scene> => {
  const cluster = await connectCluster();
  const grants = await dashboardGrants(cluster);
  const fixture = await createFixture({
    grants,
    silentAfterMs,
    env: { SDEWAN_WATCH_NAMESPACE: '', SDEWAN_DASHBOARD_URL: 'http://127.0.0.1:0' },
  });
  const home = fixture.namespace;
  const url = fixture.coordinator.dashboardUrl;
  if (url === undefined) throw new Error('the coordinator serves no dashboard');

  await apply(cluster, home, ...homeRules.map(noted));
  const agents: SimulatedAgent[] = [];
  for (const name of ['cnf-1-a', 'cnf-1-b']) {
    const pod = await createRunningPod(fixture, { name, namespace: home, purpose: PURPOSE });
    const agent = await createAgent(fixture, pod, { purpose: PURPOSE });
    await agent.tells(INFORMATION);
    agents.push(agent);
  }

  const report: Scene['report'] = async (words = {}) => {
    const rules = await Promise.all(
      homeRules.map(async ({ kind, metadata: { name } }) => {
        const definition = kindOf(kind);
        if (!definition) throw new Error(`no kind ${kind}`);
        return fixture.client.get(definition, { namespace: home, name });
      }),
    );
    for (const agent of agents)
      await agent.says(
        ...rules.map((each) => {
          const word = words[each.metadata.name];
          return [each, word?.state ?? 'Applied', word ?? {}] as const;
        }),
      );
  };
  return {
    fixture,
    url,
    home,
    admin: await account(cluster, home, { name: 'admin', everywhere: true }),
    viewer: await account(cluster, home, { name: 'viewer', everywhere: false }),
    report,
    close: async () => {
      for (const agent of agents) await agent.close();
      await fixture.close();
    },
  };
};

/** Rights of the component, without its Deployment; and what users see that are bound to it. */
const dashboardGrants = async (cluster: Cluster): Promise<Manifest[]> => {
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
