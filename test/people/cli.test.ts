/** The commands of the CLI that look at a cluster, against a running product: what they print, and how they end. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explanationSchema } from '../../coordinator/cli/explain/view.ts';
import { rulesViewSchema } from '../../coordinator/cli/rules/view.ts';
import { statusViewSchema } from '../../coordinator/cli/status/view.ts';
import { createCnf } from '../stack/cnf.ts';
import { observePods, readCnf, until } from '../stack/observe.ts';
import { apply, waitInSync } from '../stack/operator.ts';
import { inAnyOrder, rejectRule, rule, zone } from '../stack/rules.ts';
import { sdewan } from '../stack/sdewan.ts';
import { kubeconfigOf } from '../stack/service-account.ts';
import { e2eCluster } from '../e2e/cluster.ts';

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

  it('shows a CNF in sync in one line', async () => {
    // The status of the CNF follows those of its rules.
    const { code, said } = await until('both pods are counted', 30_000, async () => {
      const now = await run('status');
      return /^CNF\s+PODS\s+RULES IN SYNC\ncnf-cli\s+2\/2\s+3\/3\n$/.test(now.out)
        ? now
        : undefined;
    });
    expect([code, said]).toEqual([0, '']);
    const wide = await run('status', PURPOSE, '-o', 'wide');
    expect(wide.out).toMatch(/sdewan-agent/);
  });

  it('says what keeps a rule from being in sync, since when, and what to do', async () => {
    await apply(cluster, namespace, early);
    const told = await until('the status says why', 30_000, async () => {
      const now = await run('status', PURPOSE);
      return now.out.includes('WaitingForReference') ? now : undefined;
    });
    expect(told.code).toBe(1);
    expect(told.out).toMatch(
      /FirewallRule\/reject-2 of cnf-cli: not in sync: WaitingForReference, for \d+s/,
    );
    expect(told.out).toMatch(/cause: .*waits for FirewallZone lan2/);
    expect(told.out).toContain('cure:  Create that rule.');
  });

  it("lists the rules in the order of OpenWRT's configuration, with each pod", async () => {
    const { code, out } = await run('rules', PURPOSE, '-o', 'json');
    expect(code).toBe(1);
    const view = rulesViewSchema.parse(JSON.parse(out));
    expect(view.rules.map(({ kind, name }) => `${kind}/${name}`)).toEqual([
      'FirewallZone/lan1',
      'FirewallRule/reject-1',
      'FirewallRule/reject-2',
      'IpsecProposal/strong',
    ]);
    expect(view.rules.map(({ podStates }) => podStates.map(({ state }) => state))).toEqual([
      ['InSync', 'InSync'],
      ['InSync', 'InSync'],
      ['NotInSync', 'NotInSync'],
      ['InSync', 'InSync'],
    ]);
    const table = await run('rules', PURPOSE);
    expect(table.out).toMatch(/^PACKAGE\s+RULE\s+PODS\s+STATE\s+SINCE\s+NOT IN SYNC ON\n/);
  });

  it('explains a rule: the section that the pods have, what it refers to, and what happened', async () => {
    // An Event is written behind the status that it is about.
    const { code, view } = await until('it says that the rule came in sync', 30_000, async () => {
      const { out, ...rest } = await run('explain', 'firewallrule/reject-1', '-o', 'json');
      const now = explanationSchema.parse(JSON.parse(out));
      return now.events.some(({ reason }) => reason === 'InSync')
        ? { ...rest, view: now }
        : undefined;
    });
    expect(code).toBe(0);
    expect(view.refersTo).toMatchObject([{ kind: 'FirewallZone', name: 'lan1', state: 'InSync' }]);
    const [pod] = await observePods(cluster, namespace, PURPOSE);
    const held = await readCnf(cluster, { namespace, pod: pod?.name ?? '' });
    const [section] = view.uci[0]?.sections ?? [];
    const there = held.get('firewall')?.find(({ name }) => name === section?.name);
    expect(there).toMatchObject({ type: section?.type, options: section?.options });
    const missing = await run('explain', 'FirewallRule/reject-3');
    expect(missing).toMatchObject({
      code: 2,
      said: expect.stringContaining('the nearest are reject-'),
    });
  });

  it('tells the versions of both sides', async () => {
    const { code, out } = await run('version');
    expect(out).toMatch(/coordinator\s+\S+\s+\S*sdewan-coordinator/);
    expect(out).toMatch(/agents\s+\S+\s+\S*sdewan-agent/);
    // Images of a clone are tagged dev, which tells no version.
    expect(code).toBe(3);
  });

  it('completes names from the cluster', async () => {
    const { out } = await sdewan(cluster, '__complete', 'rules', '-n', namespace, 'cnf');
    expect(out).toBe(`${PURPOSE}\n:4\n`);
  });

  it('says nothing more of the rule when the cause is gone', async () => {
    const cause = zone('lan2', 'ovn-net2', PURPOSE);
    await apply(cluster, namespace, cause);
    await waitInSync(cluster, namespace, [cause, early]);
    // The status of the CNF follows those of its rules.
    const { out } = await until('all are counted', 30_000, async () => {
      const now = await run('status', PURPOSE);
      return now.code === 0 && now.out.includes('5/5') ? now : undefined;
    });
    expect(out).not.toContain('reject-2');
  });

  it('names the CNFs that there are', async () => {
    const { code, said, out } = await run('rules', 'cnf-ckl');
    expect([code, out]).toEqual([2, '']);
    expect(said).toContain(
      `no CNF has the name cnf-ckl in namespace ${namespace}; there is: ${PURPOSE}`,
    );
  });

  describe('as somebody', () => {
    const as = async (account: string, ...args: string[]) => {
      const kubeconfig = join(folder, account);
      await writeFile(kubeconfig, await kubeconfigOf(cluster, namespace, account));
      return run(...args, '--kubeconfig', kubeconfig);
    };

    it('who may see nothing names the rights, and cannot tell', async () => {
      await cluster.kubectl(['create', 'serviceaccount', 'nobody', '-n', namespace]);
      const { code, out, said } = await as('nobody', 'status');
      expect([code, out]).toEqual([3, '']);
      expect(said).toMatch(
        /^sdewan: you may not list cnfhubsites\..*, firewallzones\..* in namespace \S+ \(ClusterRole sdewan-viewer may\); you may not list ipsec\S+.* in namespace \S+\n$/,
      );
    });

    it('who is bound to sdewan-viewer sees all but kinds that hold keys, and is told so', async () => {
      await cluster.kubectl(['create', 'serviceaccount', 'viewer', '-n', namespace]);
      const bound = ['--clusterrole=sdewan-viewer', `--serviceaccount=${namespace}:viewer`];
      await cluster.kubectl(['create', 'rolebinding', 'viewer', '-n', namespace, ...bound]);
      // The status of the CNF follows those of its rules.
      const { code, view, said } = await until('both pods are counted', 30_000, async () => {
        const now = await as('viewer', 'status', '-o', 'json');
        const seen = statusViewSchema.parse(JSON.parse(now.out));
        return seen.cnfs[0]?.pods?.up === 2 ? { ...now, view: seen } : undefined;
      });
      expect([code, view.inSync]).toEqual([3, 'Unknown']);
      expect(view.cnfs).toMatchObject([
        { name: PURPOSE, pods: { up: 2, total: 2 }, rules: { inSync: 4, total: 4 } },
      ]);
      expect(said).toMatch(
        /^you may not list ipsechosts\..*, ipsecproposals\..*, ipsecsites\..*\nyou may not list pods in .* \(ClusterRole view may\)\n/,
      );
      expect(said).not.toMatch(/firewall|mwan3|cnf(nat|route)/);
      const all = await sdewan(cluster, 'status', '-A', '--kubeconfig', join(folder, 'viewer'));
      expect(all).toMatchObject({ code: 3, said: expect.stringContaining('in all namespaces') });
    });
  });

  it('applies rules behind those that they refer to, and deletes them before', async () => {
    const file = join(folder, 'rules.json');
    const items = [rejectRule(7, 'lan7', PURPOSE), zone('lan7', 'ovn-priv-net', PURPOSE)];
    await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    const before = await run('diff', '-f', file);
    expect(before).toMatchObject({ code: 1, said: '' });
    expect(before.out).toContain(`FirewallRule/reject-7 of ${PURPOSE}: new\n+ package firewall\n`);
    const applied = await run('apply', '-f', file);
    expect([applied.code, applied.out]).toEqual([
      0,
      'FirewallZone/lan7 applied\nFirewallRule/reject-7 applied\n',
    ]);
    expect(await run('diff', '-f', file)).toMatchObject({ code: 0, out: '' });
    const deleted = await run('delete', '-f', file);
    expect([deleted.code, deleted.out]).toEqual([
      0,
      'FirewallRule/reject-7 deleted\nFirewallZone/lan7 deleted\n',
    ]);
    const alone = join(folder, 'alone.json');
    await writeFile(alone, JSON.stringify(rejectRule(8, 'lan8', PURPOSE)));
    const refused = await run('apply', '-f', alone, '--timeout', '1');
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.said).toMatch(/FirewallRule\/reject-8.*FirewallZone lan8/);
  });

  it('checks the installation point by point', async () => {
    const { out } = await sdewan(cluster, 'check');
    for (const words of [
      /^✓ API server: v1\./m,
      /^✓ \d+ kinds$/m,
      /^✓ ValidatingWebhookConfiguration, its CA is valid until \d{4}-/m,
      /^✓ MutatingWebhookConfiguration, its CA is valid until \d{4}-/m,
      /^✓ coordinator: sdewan-coordinator is ready$/m,
      // Images of a clone are tagged dev, which tells no version.
      /^\? versions$/m,
    ])
      expect(out).toMatch(words);
    const before = await sdewan(cluster, 'check', '--pre');
    expect(before.out).toMatch(/^✓ rights: you may create all \d+ kinds/m);
    expect([before.code, before.out]).toEqual([3, expect.stringContaining('? already there: ')]);
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
