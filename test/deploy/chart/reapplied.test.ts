/**
 * Manifests come back from the API server as they were written, defaults where they count among
 * them: what is applied again changes nothing, and who applies the same by server-side apply, under
 * a name of its own, has no conflict. On a control plane without the product.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCluster, type Cluster } from 'kind-test-harness';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildHelm, CHART, helmOf } from '../../stack/helm.ts';
import { DEPLOY, listOf, render, renderWith } from '../../stack/installation.ts';
import { sdewan } from '../../stack/sdewan.ts';

const VALUES = ['dashboard.enabled=true', 'optIn=true', 'networkPolicy.enabled=true'];
const BLOCKS = 'networkPolicy.apiServerCIDRs={192.0.2.0/24}';
const HAS_POLICIES = '--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy';

let cluster: Cluster;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sdewan-helm-'));
  cluster = await startCluster({ onProgress: console.log });
});
afterAll(async () => {
  await cluster.stop();
  await rm(home, { recursive: true });
});

const manifests = async (): Promise<string> =>
  listOf([
    ...(await renderWith(cluster, ['dashboard', 'network-policy', 'opt-in'])),
    ...(await render(cluster, join(DEPLOY, '1.36'))),
  ]);
const chart = async (): Promise<string> => {
  const helm = helmOf(await buildHelm(), home);
  const set = [...VALUES, BLOCKS].map((value) => `--set=${value}`);
  const place = ['sdewan', CHART, '--namespace=sdewan-system', '--no-hooks', HAS_POLICIES];
  const { code, out, said } = await helm('template', ...place, ...set);
  expect([code, said]).toEqual([0, '']);
  return out;
};
/** A CNF with the agent in its manifest, and rules. */
const examples = async (): Promise<string> => {
  const cnf = join(DEPLOY, 'examples/cnf.yaml');
  const { out } = await sdewan(cluster, 'inject', '-f', cnf);
  return `${out}\n---\n${await readFile(join(DEPLOY, 'examples/rules.yaml'), 'utf8')}`;
};

/**
 * kubectl sends the selector of a PodDisruptionBudget each time, since it is to be replaced as a
 * whole; the API server then changes nothing.
 */
const isUnchanged = (line: string): boolean =>
  / unchanged$|^poddisruptionbudget\S+ configured$/.test(line);

const apply = (stdin: string, ...flags: string[]) =>
  cluster.kubectl(['apply', ...flags, '-f', '-'], { stdin, allowFailure: true });

it.each([
  ['deploy/ with its components', manifests],
  ['the chart', chart],
  ['the examples, injected', examples],
])(
  '%s is unchanged when it is applied again, and no conflict for another applier',
  async (_, of) => {
    const text = await of();
    expect(await apply(text)).toMatchObject({ code: 0 });
    if (of === manifests)
      await cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all']);
    const again = await apply(text);
    const lines = again.stdout.trim().split('\n');
    expect(lines.length).toBeGreaterThan(5);
    expect(lines.filter((line) => !isUnchanged(line))).toEqual([]);
    expect(await apply(text, '--server-side', '--field-manager=other')).toMatchObject({
      code: 0,
      stderr: '',
    });
  },
);
