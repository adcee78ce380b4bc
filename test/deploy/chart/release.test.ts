/**
 * The life of a release with the real Helm, by the commands of docs/chart.md, on a real API server,
 * with rules in place all the time: installed, upgraded with another CRD, rolled back, refused to
 * go, gone from under them.
 */
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectCluster } from 'kind-test-harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import * as z from 'zod';
import { holdsSeedRule, seedRules } from '../../openwrt/checks/seed-rules.ts';
import { blocksIn, stepsIn } from '../../e2e/users/docs/blocks.ts';
import { createShell, type Shell } from '../../e2e/users/docs/shell.ts';
import { ROOT } from '../../run/product-files.ts';
import { createCnf } from '../../stack/cnf.ts';
import { coordinatorReady } from '../../stack/faults.ts';
import { buildHelm, CHART, helmOf, type Helm } from '../../stack/helm.ts';
import { SYSTEM_NAMESPACE } from '../../stack/installation.ts';
import { applyManifest } from '../../stack/manifests.ts';
import { observePods, readCnf } from '../../stack/observe.ts';
import { waitInSync } from '../../stack/operator.ts';
import { sdewan } from '../../stack/sdewan.ts';

const page = blocksIn('docs/chart.md', readFileSync(join(ROOT, 'docs/chart.md'), 'utf8'));
const PURPOSE = 'cnf-1';
const ZONES = 'firewallzones.batch.sdewan.akraino.org';
/** Helm's timeout: longer than any step of `sdewan uninstall`. */
const TIMEOUT = '--timeout=500s';
const RELEASE = ['sdewan', `--namespace=${SYSTEM_NAMESPACE}`];

describe('a release', async () => {
  const cluster = await connectCluster();
  let folder = '';
  let helm: Helm;
  let shell: Shell;
  let namespace = '';

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sdewan-helm-'));
    const program = await buildHelm();
    helm = helmOf(program, folder, cluster.kubeconfig);
    shell = createShell({
      cwd: ROOT,
      env: { HOME: folder, KUBECONFIG: cluster.kubeconfig },
      programs: { kubectl: cluster.kubectlCommand, helm: [program] },
    });
  });
  afterAll(() => rm(folder, { recursive: true }));

  const done = async (...args: string[]): Promise<string> => {
    const { code, out, said } = await helm(...args);
    expect([code, said]).toEqual([0, expect.not.stringContaining('Error')]);
    return out;
  };
  /** The commands of a block of docs/chart.md; gives what they print. */
  const follow = async (
    at: number,
    words: Readonly<Record<string, string>> = {},
  ): Promise<string> => {
    const block = page[at - 1];
    if (!block) throw new Error(`the page has no block ${at}`);
    const printed: string[] = [];
    for (const { command } of stepsIn(block)) {
      const said = Object.entries(words).reduce(
        (text, [from, to]) => text.replace(from, to),
        command,
      );
      const { code, text } = await shell.run(said);
      expect([said, code, text]).toEqual([said, 0, text]);
      printed.push(text);
    }
    return printed.join('');
  };
  const get = async (...args: string[]): Promise<string> =>
    (await cluster.kubectl(['get', ...args])).stdout.trim();
  const uids = (): Promise<string> =>
    get('sdewan', '-n', namespace, '-o', 'jsonpath={.items[*].metadata.uid}');
  const columnsOfZones = (): Promise<string> =>
    get('crd', ZONES, '-o', 'jsonpath={.spec.versions[0].additionalPrinterColumns[*].name}');
  const seedRulesOnCnfs = async (): Promise<string[][]> => {
    const pods = await observePods(cluster, namespace, PURPOSE);
    return Promise.all(
      pods.map(async ({ name }) => {
        const config = await readCnf(cluster, { namespace, pod: name });
        return seedRules.filter((rule) => holdsSeedRule(config, rule));
      }),
    );
  };
  /** All that could be left, in one line each. */
  const left = async (): Promise<string[]> => {
    const kinds = (await cluster.kubectl(['api-resources', '--verbs=list', '-o', 'name'])).stdout;
    const listed = kinds
      .trim()
      .split('\n')
      .filter((kind) => !/^events|metrics/.test(kind));
    const found = await get(listed.join(), '-A', '-o', 'name', '--ignore-not-found');
    return found.split('\n').filter((name) => name.includes('sdewan'));
  };
  const release = async (): Promise<{ revision: string; status: string }> => {
    const all = JSON.parse(await done('list', '-A', '-o', 'json'));
    const [found] = z.tuple([releaseSchema]).parse(all);
    return found;
  };

  it('is installed, and serves', async () => {
    const out = await follow(1);
    const label = 'pod-security.kubernetes.io/enforce=restricted';
    expect(out).toContain(`kubectl label namespace ${SYSTEM_NAMESPACE} ${label}`);
    expect(out).toContain(`namespace/${SYSTEM_NAMESPACE} labeled`);
    await coordinatorReady(cluster);
    namespace = await cluster.createNamespace('helm');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 2 });
    await applyManifest(cluster, namespace, 'seed-rules.yaml');
    await waitInSync(cluster, namespace, seedRules);
  });

  it('changes CRDs by an upgrade, and takes the change back by a rollback, while rules stay as they are', async () => {
    const before = await uids();
    const columns = await columnsOfZones();
    const next = join(folder, 'next');
    await cp(CHART, next, { recursive: true });
    const crd = join(next, 'templates/crds/firewallzones.yaml');
    const column = { name: 'Next', type: 'string', jsonPath: '.metadata.uid' };
    const added = stringify([column]).trimEnd();
    const inserted = `additionalPrinterColumns:\n${indented(added, 8)}`;
    const text = await readFile(crd, 'utf8');
    await writeFile(crd, text.replace('additionalPrinterColumns:', inserted));
    await done('upgrade', ...RELEASE, next);
    expect(await columnsOfZones()).toBe(`Next ${columns}`);
    await coordinatorReady(cluster);
    await done('rollback', ...RELEASE, '1');
    expect(await columnsOfZones()).toBe(columns);
    await coordinatorReady(cluster);
    expect(await uids()).toBe(before);
    await waitInSync(cluster, namespace, seedRules);
  });

  it('leaves webhooks what the coordinator has written into them', async () => {
    const path = 'jsonpath={.webhooks[*].clientConfig.caBundle}';
    const kind = 'validatingwebhookconfiguration/sdewan-coordinator';
    const bundles = await get(kind, '-o', path);
    expect(bundles.length).toBeGreaterThan(100);
    await done('upgrade', ...RELEASE, CHART, '--set=replicas=1');
    expect(await get(kind, '-o', path)).toBe(bundles);
    await coordinatorReady(cluster);
  });

  it('keeps CRDs and rules when it no longer has the CRDs', async () => {
    const before = await uids();
    await done('upgrade', ...RELEASE, CHART, '--set=crds.install=false');
    expect(await uids()).toBe(before);
    await done('upgrade', ...RELEASE, CHART);
    await coordinatorReady(cluster);
  });

  it('does not go while there are rules, names them and what to do, and changes nothing', async () => {
    const before = await uids();
    const { code, out, said } = await helm('uninstall', ...RELEASE, TIMEOUT);
    expect([code, said]).toEqual([1, expect.stringContaining('sdewan-uninstall')]);
    expect(`${out}${said}`).toContain('nothing is changed, since there are rules');
    expect(`${out}${said}`).toContain(`FirewallZone ${namespace}/lan1`);
    expect(`${out}${said}`).toContain('sdewan uninstall --yes --keep-namespace=sdewan-system');
    expect(await uids()).toBe(before);
    expect(await get('job,clusterrole,serviceaccount', '-A', '-o', 'name')).not.toContain(
      'sdewan-uninstall',
    );
    // Helm has set out to uninstall, and upgrades nothing before it is called back.
    const { revision, status } = await release();
    expect(status).toBe('uninstalling');
    await follow(3, { 'sdewan 1': `sdewan ${revision}` });
    expect(await release()).toEqual({ revision: `${Number(revision) + 1}`, status: 'deployed' });
    await coordinatorReady(cluster);
    expect(await uids()).toBe(before);
    await waitInSync(cluster, namespace, seedRules);
  });

  it('goes from under its rules with `keep`', async () => {
    const before = await uids();
    await follow(2);
    expect(await uids()).toBe(before);
    const finalizers = 'jsonpath={.items[*].metadata.finalizers}';
    expect(await get('sdewan', '-n', namespace, '-o', finalizers)).toBe('');
    expect(await seedRulesOnCnfs()).toEqual([seedRules, seedRules]);
    const kept = /^customresourcedefinition|^apiservice|\.akraino\.org\//;
    expect((await left()).filter((name) => !kept.test(name))).toEqual(['namespace/sdewan-system']);
    // Nothing holds them any more.
    await cluster.kubectl(['delete', 'namespace', namespace]);
  });

  it('is no more than `sdewan install` applies, which takes out what it put in', async () => {
    const applied = await sdewan(cluster, 'install', '--apply');
    expect([applied.code, applied.out]).toEqual([0, '']);
    expect(applied.said).toMatch(/^\d+ objects applied\nthe coordinator serves$/m);
    await coordinatorReady(cluster);
    const again = await sdewan(cluster, 'install', '--apply');
    expect(again.code).toBe(0);
    expect(await sdewan(cluster, 'uninstall', '--yes')).toMatchObject({ code: 0 });
    expect(await left()).toEqual([]);
  });
});

const releaseSchema = z.object({ revision: z.string(), status: z.string() });

const indented = (text: string, by: number): string =>
  text
    .split('\n')
    .map((line) => `${' '.repeat(by)}${line}`)
    .join('\n');
