/**
 * What docs/gitops.md says, with the packages of Flux and the interpreter of Argo CD, on an API
 * server on which Flux installs the product.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connectCluster } from 'kind-test-harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { allSamples } from '../../samples/all.ts';
import { cnfObjects, createCnf } from '../../stack/cnf.ts';
import { coordinatorReady } from '../../stack/faults.ts';
import { installedObjects } from '../../stack/installation.ts';
import { until } from '../../stack/observe.ts';
import { apply, waitGone, waitInSync } from '../../stack/operator.ts';
import { inAnyOrder, rejectRule, rule, zone } from '../../stack/rules.ts';
import { buildGitops, type Gitops } from './gitops.ts';

const PURPOSE = 'cnf-1';
const COLD_BUILD_MS = 1_200_000;
const PAGE = new URL('../../../docs/gitops.md', import.meta.url).pathname;

const listSchema = z.object({ items: z.array(z.looseObject({})) });
const customizationsSchema = z.object({
  data: z.object({ 'resource.customizations': z.string() }),
});
const scriptSchema = z.record(z.string(), z.object({ 'health.lua': z.string() }));

const scriptOf = (page: string): string => {
  const [, block = ''] = /^```yaml\n(data:\n[^]*?)^```$/m.exec(page) ?? [];
  const { data } = customizationsSchema.parse(parse(block));
  const scripts = scriptSchema.parse(parse(data['resource.customizations']));
  return scripts['*.sdewan.akraino.org/*']?.['health.lua'] ?? '';
};

describe('GitOps', async () => {
  const cluster = await connectCluster();
  const folder = mkdtempSync(path.join(tmpdir(), 'sdewan-gitops-'));
  const script = path.join(folder, 'health.lua');
  let namespace = '';
  let gitops: Gitops;

  beforeAll(async () => {
    gitops = await buildGitops();
    writeFileSync(script, scriptOf(readFileSync(PAGE, 'utf8')));
    namespace = await cluster.createNamespace('gitops');
  }, COLD_BUILD_MS);
  afterAll(() => rmSync(folder, { recursive: true }));

  const inNamespace = (objects: readonly { metadata: object }[]) =>
    objects.map((one) => ({ ...one, metadata: { ...one.metadata, namespace } }));
  const byFlux = (objects: readonly { metadata: object }[]): string[] =>
    gitops(['apply', cluster.kubeconfig], inNamespace(objects));
  const seen = async (...what: string[]): Promise<object[]> => {
    const { stdout } = await cluster.kubectl(['get', ...what, '-n', namespace, '-o', 'json']);
    const read: unknown = JSON.parse(stdout);
    const { data } = listSchema.safeParse(read);
    return data?.items ?? [z.looseObject({}).parse(read)];
  };
  /** As Flux and as Argo CD call it, without their words. */
  const healthOf = (objects: readonly object[]): string[] => [
    ...new Set(
      [['kstatus'], ['lua', script]].flatMap((args) =>
        gitops(args, objects).map((line) => line.replace(/:.*$/, '')),
      ),
    ),
  ];
  const healthIn =
    (...what: string[]) =>
    async () =>
      healthOf(await seen(...what));

  it('does not call healthy what has no status yet', async () => {
    const isCrd = ({ kind }: { kind: string }) => kind === 'CustomResourceDefinition';
    gitops(['apply', cluster.kubeconfig], (await installedObjects(cluster)).filter(isCrd));
    byFlux([zone('first', 'ovn-net1', PURPOSE)]);
    expect(healthOf(await seen('firewallzones.batch.sdewan.akraino.org'))).toEqual([
      'InProgress',
      'Progressing',
    ]);
  });

  it('finds the installation in sync after the first apply', async () => {
    const made = gitops(['apply', cluster.kubeconfig], await installedObjects(cluster));
    expect(made.filter((line) => !/^(created|unchanged): /.test(line))).toEqual([]);
    await coordinatorReady(cluster);
    const again = gitops(['apply', cluster.kubeconfig], await installedObjects(cluster));
    expect(again.filter((line) => !line.startsWith('unchanged: '))).toEqual([]);
  });

  it('finds a rule of each kind in sync after the first apply, and healthy', async () => {
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 1 });
    const rules = allSamples.map(({ kind, life }) =>
      inAnyOrder(rule(kind, life.name, life.spec, PURPOSE)),
    );
    byFlux(rules);
    await waitInSync(cluster, namespace, rules);
    expect(byFlux(rules).filter((line) => !line.startsWith('unchanged: '))).toEqual([]);
    await expect.poll(healthIn('sdewan')).toEqual(['Current', 'Healthy']);
  });

  it('calls a rule failed that an operator must change', async () => {
    byFlux([inAnyOrder(zone('nowhere', 'ovn-net9', PURPOSE))]);
    await expect.poll(healthIn('firewallzone/nowhere')).toEqual(['Failed', 'Degraded']);
  });

  it('waits for a rule whose zone is not there', async () => {
    const early = inAnyOrder(rejectRule(1, 'later', PURPOSE));
    byFlux([early]);
    await until('it has a status', async () => {
      const text = JSON.stringify(await seen(`firewallrule/${early.metadata.name}`));
      return text.includes('WaitingForReference') ? true : undefined;
    });
    await expect
      .poll(healthIn(`firewallrule/${early.metadata.name}`))
      .toEqual(['InProgress', 'Progressing']);
  });

  it('prunes a zone before the rules that use it', async () => {
    const lan = inAnyOrder(zone('pruned', 'ovn-net2', PURPOSE));
    const user = inAnyOrder(rejectRule(2, 'pruned', PURPOSE));
    byFlux([lan, user]);
    await waitInSync(cluster, namespace, [lan, user]);
    for (const one of [lan, user])
      await cluster.kubectl([
        'delete',
        `${one.kind}/${one.metadata.name}`,
        `--namespace=${namespace}`,
        '--wait=false',
      ]);
    await waitGone(cluster, namespace, [lan, user]);
  });

  it('says of a CNFDeployment what its conditions say', async () => {
    const other = 'cnf-2';
    const [deployment, ...before] = (
      await cnfObjects({ namespace, purpose: other, replicas: 1 })
    ).toReversed();
    await apply(cluster, namespace, ...before);
    const { spec } = z.looseObject({ spec: z.looseObject({}) }).parse(deployment);
    const { selector, template } = spec;
    const cnf = {
      apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
      kind: 'CNFDeployment',
      metadata: { name: other },
      spec: { replicas: 1, selector, template },
    };
    byFlux([cnf]);
    await expect.poll(healthIn(`cnfdeploy/${other}`)).toEqual(['Failed', 'Degraded']);
    const account = '--serviceaccount=sdewan-system:sdewan-coordinator';
    const bind = ['create', 'rolebinding', 'sdewan-fleet', '--clusterrole=sdewan-fleet', account];
    await cluster.kubectl([...bind, '-n', namespace]);
    await expect.poll(healthIn(`cnfdeploy/${other}`)).toEqual(['Current', 'Healthy']);
    expect(byFlux([cnf])).toEqual([expect.stringMatching(/^unchanged: /)]);
  });
});
