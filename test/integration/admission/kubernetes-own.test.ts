/**
 * What Kubernetes itself does with workloads of CNFs, and says of them, as the product takes it.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cnfDeploymentResource } from '#shared/resources/other-kinds/cnf-deployment.ts';
import { kinds } from '#shared/resources/registry.ts';
import { podResource } from '../../../coordinator/sources/workload.ts';
import { listOf } from '../../stack/installation.ts';
import { sdewan } from '../../stack/sdewan.ts';
import { brokenSampleOf, crOf, sampleOf } from './samples.ts';
import { eventually } from '../support/eventually.ts';
import { createFixture, type Fixture } from './fixture.ts';

let fixture: Fixture;
let namespace: string;
let folder: string;
beforeAll(async () => {
  fixture = await createFixture();
  namespace = await fixture.createNamespace();
  folder = await mkdtemp(join(tmpdir(), 'files-'));
});
afterAll(async () => {
  await fixture.close();
  await rm(folder, { recursive: true });
});

const workload = (name: string, purpose: string, spec: object = {}, label = purpose): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace, labels: { sdewanPurpose: label } },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name, sdewanPurpose: purpose } },
      spec: {
        schedulerName: 'none',
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'openwrt', image: 'none' }],
        ...spec,
      },
    },
  },
});
const podsOf = async (app: string) =>
  (await fixture.client.list(podResource, { namespace, labelSelector: `app=${app}` })).items;
const get = async (what: string, path: string): Promise<string> =>
  (await fixture.kubectl('get', ...what.split(' '), '-n', namespace, '-o', `jsonpath=${path}`))
    .stdout;

describe('a Deployment', () => {
  it('is no second CNF after a deletion with --cascade=orphan, and adopts its pods', async () => {
    expect(await fixture.apply([workload('orphan', 'cnf-1')])).toMatchObject({ code: 0 });
    await eventually(async () => (await podsOf('orphan')).length).toBe(1);
    const [before] = await podsOf('orphan');
    const gone = ['delete', 'deployment', 'orphan', '-n', namespace, '--cascade=orphan'];
    expect(await fixture.kubectl(...gone)).toMatchObject({ code: 0 });
    const owners = () => get('rs', '{.items[*].metadata.ownerReferences[*].name}');
    expect(await owners()).toBe('');
    // With another selector, it would be a second one.
    expect(await fixture.apply([workload('other', 'cnf-1')])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('already serves purpose cnf-1'),
    });
    expect(await fixture.apply([workload('orphan', 'cnf-1')])).toMatchObject({ code: 0 });
    await eventually(owners).toBe('orphan');
    expect((await podsOf('orphan')).map(({ metadata }) => metadata.uid)).toEqual([
      before?.metadata.uid,
    ]);
  });

  it('serves what the label of its pod template says, whatever its own says', async () => {
    const mixed = await fixture.apply([workload('mixed', 'cnf-3', {}, 'cnf-2')]);
    expect([mixed.code, mixed.stderr]).toEqual([0, expect.stringContaining('is cnf-2 here')]);
    expect(await fixture.apply([workload('two', 'cnf-2')])).toMatchObject({ code: 0 });
    for (const app of ['mixed', 'two'])
      await eventually(async () => (await podsOf(app)).length).toBe(1);
    expect(await fixture.apply([workload('three', 'cnf-3')])).toMatchObject({ code: 1 });
  });

  it('has no port of the agent on the network of its node, and is warned of', async () => {
    const { code, stderr } = await fixture.apply([
      workload('host', 'cnf-4', { hostNetwork: true }),
    ]);
    expect([code, stderr]).toEqual([0, expect.stringContaining('hostNetwork of the pod template')]);
    const ports = '{.items[*].spec.initContainers[*].ports[*]}';
    await eventually(async () => (await podsOf('host')).length).toBe(1);
    expect(await get('pods -l app=host', ports)).toBe('');
    expect(await get('pods -l app=two', ports)).toContain('9464');
    const annotation = String.raw`{.items[*].metadata.annotations.cluster-autoscaler\.kubernetes\.io/safe-to-evict-local-volumes}`;
    expect(await get('pods -l app=two', annotation)).toBe('sdewan-own-login,sdewan-state');
  });
});

describe('a field that Kubernetes does not know', () => {
  const cnfDeployment = {
    apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
    kind: 'CNFDeployment',
    metadata: { name: 'cnf-9' },
    spec: {
      replicas: 1,
      selector: { matchLabels: { sdewanPurpose: 'cnf-9' } },
      template: {
        metadata: { labels: { sdewanPurpose: 'cnf-9' } },
        spec: {
          terminationGracePeriodSecond: 5,
          containers: [
            {
              name: 'openwrt',
              image: 'openwrt:1',
              resorces: { requests: { cpu: '500m' } },
              livenesProbe: { exec: { command: ['true'] } },
            },
          ],
        },
      },
    },
  };
  const WORDS = [
    'unknown field "spec.template.spec.terminationGracePeriodSecond"',
    'unknown field "spec.template.spec.containers[0].resorces"',
    'unknown field "spec.template.spec.containers[0].livenesProbe"',
  ];

  it('stands in the status of a CNFDeployment whose template has it, in the words of the API server, and at apply, until it is mended', async () => {
    const account = `--serviceaccount=${fixture.systemNamespace}:sdewan-coordinator`;
    const role = `--clusterrole=sdewan-fleet-${fixture.systemNamespace}`;
    await fixture.kubectl('create', 'rolebinding', 'fleet', '-n', namespace, role, account);
    const file = join(folder, 'cnf-9.json');
    await writeFile(file, JSON.stringify(cnfDeployment));
    const differs = await sdewan(fixture.cluster, 'diff', '-n', namespace, '-f', file);
    const applied = await sdewan(fixture.cluster, 'apply', '-n', namespace, '-f', file);
    expect([differs.code, applied.code, applied.out]).toEqual([
      0,
      0,
      'CNFDeployment/cnf-9 applied\n',
    ]);
    const message = async () =>
      (await fixture.client.get(cnfDeploymentResource, { namespace, name: 'cnf-9' })).status
        ?.message;
    await eventually(message).toContain('strict decoding error');
    for (const words of WORDS)
      for (const said of [differs.said, applied.said, await message()])
        expect(said).toContain(words);
    expect(await get('deployment/cnf-9', '{.metadata.name}')).toBe('');
    // What is stored stays as it is, and can be changed.
    const labelled = ['label', 'cnfdeployment', 'cnf-9', '-n', namespace, 'a=b'];
    expect(await fixture.kubectl(...labelled)).toMatchObject({ code: 0 });
    const [container] = cnfDeployment.spec.template.spec.containers;
    const { resorces: _, livenesProbe: __, ...right } = container ?? {};
    const mended = structuredClone(cnfDeployment);
    Object.assign(mended.spec.template.spec, {
      terminationGracePeriodSecond: undefined,
      containers: [right],
    });
    await writeFile(file, JSON.stringify(mended));
    const again = await sdewan(fixture.cluster, 'apply', '-n', namespace, '-f', file);
    expect([again.code, again.said]).toEqual([0, '']);
    await eventually(() => get('deployment/cnf-9', '{.metadata.name}')).toBe('cnf-9');
  });
});

it('sdewan diff -f refuses what the API server refuses, and shows the rest', async () => {
  const rules = (specOf: (kind: (typeof kinds)[number]) => object): object[] =>
    kinds.map((kind) => crOf(kind, { namespace, name: 'one' }, { ...specOf(kind) }));
  const bad = join(folder, 'bad.json');
  await writeFile(bad, listOf(rules((kind) => brokenSampleOf(kind).spec)));
  const refused = await sdewan(fixture.cluster, 'diff', '-f', bad);
  expect([refused.code, refused.out]).toEqual([2, '']);
  expect(refused.said.match(/^\w+(?=\/one: )/gm)).toEqual(kinds.map(({ kind }) => kind));
  // What they refer to is not there, which an apply waits for.
  const good = join(folder, 'good.json');
  const own = { annotations: { 'sdewan.akraino.org/references': 'warn' } };
  const right = kinds.map((kind) => crOf(kind, { namespace, name: 'one', ...own }, sampleOf(kind)));
  await writeFile(good, listOf(right));
  const taken = await sdewan(fixture.cluster, 'diff', '-f', good);
  expect([taken.code, taken.said]).toEqual([1, expect.not.stringMatching(/^\w+\/one: /m)]);
});
