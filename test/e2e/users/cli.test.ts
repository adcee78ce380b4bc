/**
 * The commands of the CLI that look at a cluster, against a running product: what the pages of
 * docs/ do not show of them.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explanationSchema } from '../../../coordinator/views/explanation.ts';
import { statusViewSchema } from '../../../coordinator/views/status.ts';
import { createCnf } from '../../stack/cnf.ts';
import { observePods, readCnf, until } from '../../stack/observe.ts';
import { apply, waitInSync } from '../../stack/operator.ts';
import { inAnyOrder, rejectRule, rule, zone } from '../../stack/rules.ts';
import { sdewan } from '../../stack/sdewan.ts';
import { kubeconfigOf } from '../../stack/service-account.ts';
import { e2eCluster } from '../cluster.ts';

const PURPOSE = 'cnf-cli';
const lan = zone('lan1', 'ovn-net1', PURPOSE);
const reject = rejectRule(1, 'lan1', PURPOSE);
/** Its zone comes later. */
const early = inAnyOrder(rejectRule(2, 'lan2', PURPOSE));
const proposal = rule(
  'IpsecProposal',
  'strong',
  { encryption_algorithm: 'aes256', hash_algorithm: 'sha256', dh_group: 'modp3072' },
  PURPOSE,
);

describe('the CLI', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let folder = '';
  const run = (...args: string[]) => sdewan(cluster, ...args, '-n', namespace);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sdewan-e2e-cli-'));
    namespace = await cluster.createNamespace('cli');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 2 });
    await apply(cluster, namespace, lan, reject, proposal);
    await waitInSync(cluster, namespace, [lan, reject, proposal]);
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('explains a rule by the section that the pods have', async () => {
    const { code, out } = await run('explain', 'firewallrule/reject-1', '-o', 'json');
    expect(code).toBe(0);
    const [section] = explanationSchema.parse(JSON.parse(out)).uci[0]?.sections ?? [];
    const [pod] = await observePods(cluster, namespace, PURPOSE);
    const held = await readCnf(cluster, { namespace, pod: pod?.name ?? '' });
    const there = held.get('firewall')?.find(({ name }) => name === section?.name);
    expect(there).toMatchObject({ type: section?.type, options: section?.options });
  });

  it('completes names from the cluster', async () => {
    // A shell that is not answered in two seconds gets no names, and asks again with the next key.
    const names = async () => {
      const { out } = await sdewan(cluster, '__complete', 'rules', '-n', namespace, 'cnf');
      return out;
    };
    await expect.poll(names).toBe(`${PURPOSE}\n:4\n`);
  });

  it('says by its exit code whether all rules are in sync', async () => {
    // The status of the CNF follows those of its rules.
    const status = async (): Promise<string> => {
      const { code, out } = await run('status', PURPOSE);
      return `${code} ${out}`;
    };
    await expect.poll(status).toMatch(/^0 [^]*3\/3/);
    await apply(cluster, namespace, early);
    await expect.poll(status).toMatch(/^1 [^]*WaitingForReference/);
    await apply(cluster, namespace, zone('lan2', 'ovn-net2', PURPOSE));
    await expect.poll(status).toMatch(/^0 [^]*5\/5/);
  });

  describe('as a user', () => {
    const as = async (account: string, ...args: string[]) => {
      const kubeconfig = join(folder, account);
      await writeFile(kubeconfig, await kubeconfigOf(cluster, namespace, account));
      return run(...args, '--kubeconfig', kubeconfig);
    };

    it('names the rights to one that sees nothing, and cannot tell', async () => {
      await cluster.kubectl(['create', 'serviceaccount', 'nobody', '-n', namespace]);
      const { code, out, said } = await as('nobody', 'status');
      expect([code, out]).toEqual([3, '']);
      expect(said).toMatch(
        /^sdewan: you may not list cnfdeployments\S+, ipsec\S+.* in namespace \S+; you may not list cnfhubsites\..*, firewallzones\..* in namespace \S+ \(ClusterRole sdewan-viewer may\)\n$/,
      );
    });

    it('shows one that is bound to sdewan-viewer all but kinds that hold keys, and says so', async () => {
      await cluster.kubectl(['create', 'serviceaccount', 'viewer', '-n', namespace]);
      const bound = ['--clusterrole=sdewan-viewer', `--serviceaccount=${namespace}:viewer`];
      await cluster.kubectl(['create', 'rolebinding', 'viewer', '-n', namespace, ...bound]);
      // The status of the CNF follows those of its rules.
      const { code, view, said } = await until('both pods are counted', async () => {
        const now = await as('viewer', 'status', '-o', 'json');
        const seen = statusViewSchema.parse(JSON.parse(now.out));
        return seen.cnfs[0]?.pods?.up === 2 ? { ...now, view: seen } : undefined;
      });
      expect([code, view.inSync]).toEqual([3, 'Unknown']);
      expect(view.cnfs).toMatchObject([
        { name: PURPOSE, pods: { up: 2, total: 2 }, rules: { inSync: 4, total: 4 } },
      ]);
      expect(said).toMatch(
        /^you may not list cnfdeployments\..*, ipsechosts\..*, ipsecproposals\..*, ipsecsites\..*\nyou may not list pods in .* \(ClusterRole view may\)\n/,
      );
      expect(said).not.toMatch(/firewall|mwan3|cnf(nat|route)/);
      const all = await sdewan(cluster, 'status', '-A', '--kubeconfig', join(folder, 'viewer'));
      expect(all).toMatchObject({ code: 3, said: expect.stringContaining('in all namespaces') });
    });
  });

  it('deletes rules before those that they refer to', async () => {
    const file = join(folder, 'zone-first.json');
    const items = [zone('lan7', 'ovn-priv-net', PURPOSE), rejectRule(7, 'lan7', PURPOSE)];
    await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    expect(await run('apply', '-f', file)).toMatchObject({ code: 0 });
    const out = 'FirewallRule/reject-7 deleted\nFirewallZone/lan7 deleted\n';
    expect(await run('delete', '-f', file)).toMatchObject({ code: 0, out });
  });

  it('says which rules are refused, and ends with 1', async () => {
    const file = join(folder, 'rules.json');
    await writeFile(file, JSON.stringify(rejectRule(8, 'lan8', PURPOSE)));
    const { code, out, said } = await run('apply', '-f', file, '--timeout', '1');
    expect([code, out]).toEqual([1, '']);
    expect(said).toMatch(/FirewallRule\/reject-8.*FirewallZone lan8/);
  });

  it('checks before an installation what is there already', async () => {
    const { code, out } = await sdewan(cluster, 'check', '--pre');
    expect(out).toMatch(/^✓ rights: you may create all \d+ kinds/m);
    expect([code, out]).toEqual([3, expect.stringContaining('? already there: ')]);
  });

  it('takes the credentials of a plugin, as kubectl does', async () => {
    const text: unknown = JSON.parse(await kubeconfigOf(cluster, namespace, 'viewer'));
    const { users } = text as { users: { name: string; user: { token: string } }[] };
    const credential = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: users[0]?.user.token },
    };
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'echo',
      args: [JSON.stringify(credential)],
      interactiveMode: 'Never',
    };
    const kubeconfig = join(folder, 'plugin');
    const withPlugin = { ...(text as object), users: [{ name: users[0]?.name, user: { exec } }] };
    await writeFile(kubeconfig, JSON.stringify(withPlugin));
    const { out } = await run('status', '--kubeconfig', kubeconfig);
    expect(out).toContain(PURPOSE);
  });
});
