/**
 * What `sdewan` asks agents for, through real port-forwards: what OpenWRT has beside what it should
 * have.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { POLICY_NETWORKS_ANNOTATION } from '#shared/names.ts';
import { podDiffViewSchema } from '../../../coordinator/cli/diff/device.ts';
import { policyExplanationSchema } from '../../../coordinator/cli/explain/policy.ts';
import { readUci, type DeviceSection } from '../../openwrt/checks/uci.ts';
import { createCnf } from '../../stack/cnf.ts';
import { startConnectProxy } from '../../stack/connect-proxy.ts';
import { observePods, readConfigFile, until } from '../../stack/observe.ts';
import { apply, waitInSync } from '../../stack/operator.ts';
import { policiesIn } from '../../stack/policies.ts';
import { rejectRule, zone } from '../../stack/rules.ts';
import { sdewan } from '../../stack/sdewan.ts';
import { kubeconfigOf } from '../../stack/service-account.ts';
import { e2eCluster } from '../cluster.ts';

const PURPOSE = 'cnf-agents';
const PAUSED = 'sdewan.akraino.org/paused';
const rules = [
  zone('lan1', 'ovn-net1', PURPOSE),
  ...[1, 2, 3, 4, 5].map((number) => rejectRule(number, 'lan1', PURPOSE)),
];

const kubeconfigSchema = z.looseObject({
  clusters: z.array(z.looseObject({ cluster: z.looseObject({ server: z.string() }) })),
});

describe('what agents answer to the CLI', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let folder = '';
  let pods: string[] = [];
  const run = (...args: string[]) => sdewan(cluster, ...args, '-n', namespace);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sdewan-agents-'));
    namespace = await cluster.createNamespace('agents');
    await createCnf(cluster, {
      namespace,
      purpose: PURPOSE,
      replicas: 2,
      annotations: { [POLICY_NETWORKS_ANNOTATION]: 'cluster' },
    });
    await apply(cluster, namespace, ...rules);
    await waitInSync(cluster, namespace, rules);
    pods = (await observePods(cluster, namespace, PURPOSE)).map(({ name }) => name).sort();
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('is that all pods have what they should, and a pass more changes nothing', async () => {
    const equal = await run('diff', PURPOSE);
    expect(equal).toEqual({
      code: 0,
      said: '',
      out: pods.map((pod) => `${pod}: as it should be\n`).join('\n'),
    });
    const resynced = await run('resync', pods[0] ?? '');
    expect(resynced).toMatchObject({ code: 0, said: '' });
    expect(resynced.out).toContain(`${pods[0]}: the agent has looked at everything`);
  });

  it('comes through a proxy where the kubeconfig names one, as all that the API server says', async () => {
    const proxy = await startConnectProxy();
    try {
      const kubeconfig = join(folder, 'through-proxy');
      const { stdout } = await cluster.kubectl(['config', 'view', '--raw', '-o', 'json']);
      const config = kubeconfigSchema.parse(JSON.parse(stdout));
      for (const one of config.clusters) one.cluster['proxy-url'] = proxy.url;
      await writeFile(kubeconfig, JSON.stringify(config));
      const equal = await run('diff', PURPOSE, '--kubeconfig', kubeconfig);
      expect(equal).toMatchObject({ code: 0, said: '' });
      // A connection for what is listed, and one for each pod.
      expect(proxy.asked.length).toBeGreaterThan(pods.length);
      expect(new Set(proxy.asked)).toEqual(
        new Set(config.clusters.map(({ cluster: { server } }) => new URL(server).host)),
      );
    } finally {
      proxy.stop();
    }
  });

  it('is the drift in the files of a pod, and nothing else; nothing after its repair', async () => {
    const [pod = ''] = pods;
    const file = async () =>
      readUci((await readConfigFile(cluster, { namespace, pod }, 'firewall')) ?? '');
    const annotate = (value: string) =>
      cluster.kubectl(['annotate', '-n', namespace, `pod/${pod}`, `${PAUSED}${value}`]);
    const before = await file();
    await annotate('=true');
    await until('the agent is paused', async () => {
      const { out } = await run('diff', pod, '-o', 'json');
      return podDiffViewSchema.parse(JSON.parse(out)).pods[0]?.paused || undefined;
    });
    const drift = [
      "1i config rule 'theirs'\\n\\toption target 'DROP'",
      "/rule 'sdewan_rule_reject_1'/,/^$/s/REJECT/ACCEPT/",
      "/rule 'sdewan_rule_reject_2'/,/^$/d",
      "$a config rule 'sdewan_rule_stray'\\n\\toption target 'ACCEPT'",
    ];
    const options = drift.flatMap((one) => ['-e', one]);
    const edit = ['sed', '-i', ...options, '/etc/config/firewall'];
    await cluster.exec({ namespace, pod, container: 'sdewan' }, edit);
    const { code, out } = await run('diff', pod, '-o', 'json');
    const [seen] = podDiffViewSchema.parse(JSON.parse(out)).pods;
    const told = seen?.changes.map(({ section, change, rule }) => [section, change, rule]);
    expect([code, seen?.notes, told]).toEqual([
      1,
      [],
      [
        ['sdewan_rule_reject_1', 'Changed', 'FirewallRule/reject-1'],
        ['sdewan_rule_reject_2', 'Missing', 'FirewallRule/reject-2'],
        ['sdewan_rule_stray', 'Unwanted', undefined],
      ],
    ]);
    await annotate('-');
    await until('the drift is repaired', async () =>
      (await run('diff', pod)).code === 0 ? true : undefined,
    );
    const ofOurs = ({ name }: DeviceSection): boolean => name?.startsWith('sdewan_') === true;
    expect((await file()).filter(ofOurs)).toEqual(before.filter(ofOurs));
  });

  it('is beside what NetworkPolicies say of a packet between two pods', async () => {
    const fixture = policiesIn(cluster, namespace);
    await fixture.pod('server', '10.99.7.1', { role: 'server' });
    await fixture.pod('client', '10.99.7.2', { role: 'client' });
    await fixture.pod('other', '10.99.7.3', { role: 'other' });
    await apply(cluster, namespace, {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'web' },
      spec: {
        podSelector: { matchLabels: { role: 'server' } },
        ingress: [
          {
            from: [{ podSelector: { matchLabels: { role: 'client' } } }],
            ports: [{ protocol: 'TCP', port: 8080 }],
          },
        ],
      },
    });
    await until('the policy is enforced', async () =>
      (await fixture.isEnforced('web')) ? true : undefined,
    );
    const traced = (from: string, to: string) =>
      run('trace', '--from', from, '--to', to, '--dport', '8080');
    const [allowed, denied, missing] = [
      await traced('client', '10.99.7.1'),
      await traced(`${namespace}/other`, 'server'),
      await traced('nobody', 'server'),
    ];
    expect([allowed.code, denied.code, missing.code]).toEqual([0, 1, 1]);
    expect(allowed.out).toContain('allowed at each of these CNFs');
    expect(denied.out).toContain(`denied at ${namespace}/${PURPOSE}, where it passes`);
    expect(denied.out).toContain(`nothing in NetworkPolicy ${namespace}/web lets it pass`);
    expect(missing.said).toContain(`there is no pod ${namespace}/nobody`);
  });

  it('includes where a policy is enforced, for which pods not, and the members of its groups', async () => {
    const { code, out } = await run('explain', 'networkpolicy/web', '-o', 'json');
    const { enforced, places } = policyExplanationSchema.parse(JSON.parse(out));
    expect([code, enforced, places]).toMatchObject([
      0,
      true,
      [
        {
          namespace,
          cnf: PURPOSE,
          pods: { selected: 1, enforced: 1 },
          groups: [
            { examples: [`${namespace}/server (10.99.7.1)`] },
            { examples: [`${namespace}/client (10.99.7.2)`] },
          ],
        },
      ],
    ]);
    const missing = await run('explain', 'netpol/wep');
    expect(missing).toMatchObject({
      code: 1,
      said: expect.stringContaining('there is no NetworkPolicy wep here; the nearest are web'),
    });
  });

  describe('as a user', () => {
    const as = async (account: string, ...args: string[]) => {
      const kubeconfig = join(folder, account);
      await writeFile(kubeconfig, await kubeconfigOf(cluster, namespace, account));
      return run(...args, '--kubeconfig', kubeconfig);
    };
    const bind = async (account: string, ...roles: string[]) => {
      await cluster.kubectl(['create', 'serviceaccount', account, '-n', namespace]);
      for (const role of roles) {
        const bound = [`--clusterrole=${role}`, `--serviceaccount=${namespace}:${account}`];
        const names = ['rolebinding', `${account}-${role}`, '-n', namespace];
        await cluster.kubectl(['create', ...names, ...bound]);
      }
    };

    it('tells one without the right to forward ports which right that takes, and what statuses say', async () => {
      await bind('viewer', 'sdewan-viewer');
      const { code, out } = await as('viewer', 'diff', PURPOSE);
      expect(code).toBe(3);
      for (const pod of pods)
        expect(out).toContain(
          `${pod}: not known\n  you may not create pods/portforward in namespace ${namespace} (ClusterRole sdewan-debug may); you may not get pods/portforward in namespace ${namespace} (ClusterRole sdewan-debug may)\n`,
        );
    });

    it('answers one that is bound to sdewan-debug as well', async () => {
      await bind('debugger', 'sdewan-viewer', 'sdewan-debug');
      const { code, out } = await as('debugger', 'diff', PURPOSE);
      expect([code, out]).toEqual([0, expect.stringContaining('as it should be')]);
    });
  });
});
