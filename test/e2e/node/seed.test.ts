/**
 * The seed's CNF and rules on real pods: how it looks in kubectl, how strict the sidecar is, and
 * how a CNF heals.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { holdsSeedRule, seedRules } from '../../openwrt/checks/seed-rules.ts';
import { createCnf } from '../../stack/cnf.ts';
import { applyManifest } from '../../stack/manifests.ts';
import { observePods, readCnf, until } from '../../stack/observe.ts';
import { waitInSync } from '../../stack/operator.ts';
import { agentOf, agentStatus, CNF, firstPod, getPod, nodeCluster, PURPOSE } from './cluster.ts';
import { measured } from './figures.ts';

const REPLICAS = 2;

describe("the seed's CNF with two replicas", async () => {
  const cluster = await nodeCluster();
  let namespace = '';
  let pods: string[] = [];

  const holdsAll = async (pod: string): Promise<boolean> => {
    const config = await readCnf(cluster, { namespace, pod });
    return seedRules.every((rule) => holdsSeedRule(config, rule));
  };

  beforeAll(async () => {
    namespace = await cluster.createNamespace('node-seed');
    await measured('CNF with two replicas and eight rules, from apply to in sync', async () => {
      await createCnf(
        cluster,
        { namespace, purpose: PURPOSE, replicas: REPLICAS },
        { wait: false },
      );
      await applyManifest(cluster, namespace, 'seed-rules.yaml');
      await waitInSync(cluster, namespace, seedRules);
    });
    pods = (await observePods(cluster, namespace, PURPOSE)).map(({ name }) => name);
  });

  it('has 2/2 Ready pods with every rule', async () => {
    const { stdout } = await cluster.kubectl(['get', 'pods', '-n', namespace, '--no-headers']);
    expect(stdout.trim().split('\n')).toHaveLength(REPLICAS);
    for (const line of stdout.trim().split('\n')) expect(line).toMatch(/ 2\/2 +Running +0 /);
    for (const pod of pods) expect(await holdsAll(pod)).toBe(true);
  });

  it('kubectl get sdewan shows each rule on both, in sync', async () => {
    const { stdout } = await cluster.kubectl(['get', 'sdewan', '-n', namespace]);
    const rows = stdout.split('\n').filter((line) => line.includes('batch.sdewan.akraino.org/'));
    expect(rows).toHaveLength(seedRules.length);
    for (const row of rows) expect(row).toMatch(/ cnf-1 +2\/2 +true /);
  });

  it.each([
    ['user and group 65532', /^Uid:\t65532\t65532\t65532\t65532$/m],
    ['its group', /^Gid:\t65532\t65532\t65532\t65532$/m],
    ['no capability to have', /^CapBnd:\t0+$/m],
    ['no capability in force', /^CapEff:\t0+$/m],
    ['no new privileges', /^NoNewPrivs:\t1$/m],
    ['the seccomp filter of the runtime', /^Seccomp:\t2$/m],
  ])('runs the agent with %s', async (_what, line) => {
    for (const pod of pods) {
      const status = await cluster.readFile(agentOf(namespace, pod), '/proc/1/status');
      expect(status).toMatch(line);
    }
  });

  it('lets the agent write its own volumes only, and needs no others', async () => {
    const [pod = ''] = pods;
    const agent = agentOf(namespace, pod);
    const write = async (path: string) =>
      (await cluster.exec(agent, ['sh', '-c', `echo >${path}/probe`])).stderr;
    for (const path of ['/', '/app', '/tmp', '/etc']) {
      expect(await write(path)).toContain('Read-only file system');
    }
    expect(await write('/var/lib/sdewan')).toBe('');
    expect(await write('/var/run/sdewan')).toContain('Read-only file system');
    const { stdout } = await cluster.kubectl(['logs', '-n', namespace, pod, '-c', 'sdewan-agent']);
    expect(stdout).not.toMatch(/EACCES|EPERM|EROFS/);
  });

  it('heals a CNF that is killed in its pod, and does not replace the pod', async () => {
    const pod = await firstPod(cluster, namespace);
    const before = await getPod(cluster, namespace, pod);
    await cluster.killContainer({ namespace, pod, container: CNF }, 'SIGKILL');
    await measured('CNF killed in its pod, until its file holds all rules again', async () => {
      await until(`${pod} healed`, async () => {
        const { status } = await getPod(cluster, namespace, pod);
        const isRestarted = status.containerStatuses?.[0]?.restartCount === 1;
        return isRestarted && (await holdsAll(pod)) ? true : undefined;
      });
    });
    await waitInSync(cluster, namespace, seedRules);
    const after = await getPod(cluster, namespace, pod);
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect(agentStatus(after)).toMatchObject({ ready: true, restartCount: 0 });
  });
});
