/** The chart, as the real Helm renders it: what deploy/ installs, object by object, and each of its values changes something. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectCluster } from 'kind-test-harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { chartOf } from '../../deploy/generate/chart/templates.ts';
import { isNamespaced } from '../../deploy/installation/kustomization.ts';
import { buildHelm, CHART, helmOf, type Helm, type HelmResult } from '../stack/helm.ts';
import { DEPLOY, installedObjects, render, type Manifest } from '../stack/installation.ts';

const BUILD_TIMEOUT_MS = 1_800_000;
const RELEASE = ['sdewan', CHART, '--namespace=sdewan-system'];
const HAS_POLICIES = '--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy';

const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
});
type Shown = z.infer<typeof objectSchema>;

const KEEP = 'helm.sh/resource-policy';
const HOOK = 'helm.sh/hook';

/** As they are to be compared: kustomize gives policies a namespace, too; Helm has one word of its own on CRDs. */
const compared = (objects: readonly Shown[] | readonly Manifest[]): Map<string, unknown> =>
  new Map(
    objects.map((object) => {
      const { apiVersion, kind, metadata, ...rest } = objectSchema.parse(object);
      const { namespace, annotations = {}, ...others } = metadata;
      const { [KEEP]: _, ...own } = annotations;
      const place = isNamespaced({ apiVersion, kind, metadata }) ? namespace : undefined;
      const key = `${kind} ${place === undefined ? '' : `${place}/`}${metadata.name}`;
      const named = Object.keys(own).length === 0 ? others : { ...others, annotations: own };
      return [key, { apiVersion, kind, metadata: { ...named, namespace: place }, ...rest }];
    }),
  );

type Objects = ReadonlyMap<string, unknown>;
/** One after the other, so that what differs is shown alone. */
const expectSame = (chart: Objects, base: Objects): void => {
  expect([...chart.keys()].sort()).toEqual([...base.keys()].sort());
  for (const [key, object] of base) expect([key, chart.get(key)]).toEqual([key, object]);
};

describe('the chart', async () => {
  const cluster = await connectCluster();
  let home = '';
  let helm: Helm;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sdewan-helm-'));
    helm = helmOf(await buildHelm(), home);
  }, BUILD_TIMEOUT_MS);
  afterAll(() => rm(home, { recursive: true }));

  const template = async (...args: string[]): Promise<string> => {
    const { code, out, said } = await helm('template', ...RELEASE, ...args);
    expect([code, said]).toEqual([0, '']);
    return out;
  };
  const objectsOf = (text: string): Shown[] =>
    parseAllDocuments(text)
      .map((document): unknown => document.toJS())
      .filter((object) => object !== null)
      .map((object) => objectSchema.parse(object));
  /** Without what it runs before an end. */
  const shown = async (...args: string[]): Promise<Map<string, unknown>> =>
    compared(
      objectsOf(await template(...args)).filter(({ metadata }) => !metadata.annotations?.[HOOK]),
    );
  const set = (values: Readonly<Record<string, unknown>>): string[] =>
    Object.entries(values).flatMap(([path, value]) => [
      '--set-json',
      `${path}=${JSON.stringify(value)}`,
    ]);

  it('has nothing that Helm finds wrong', async () => {
    expect(await helm('lint', '--strict', CHART)).toMatchObject({
      code: 0,
      out: expect.stringContaining('0 chart(s) failed'),
    });
  });

  it('is what deploy/ installs, object by object, but for the namespace, which Helm makes', async () => {
    const base = compared(await installedObjects(cluster));
    expect(base.delete('Namespace sdewan-system')).toBe(true);
    const chart = await shown();
    expectSame(chart, base);
  });

  it.each([
    ['1.36', [HAS_POLICIES]],
    ['dashboard', set({ 'dashboard.enabled': true })],
    ['opt-in', set({ optIn: true })],
    ['warn-first', set({ warnFirst: true })],
  ])('has the same of deploy/%s', async (folder, args) => {
    const dist = join(DEPLOY, '../dist');
    await mkdir(dist, { recursive: true });
    const overlay = await mkdtemp(join(dist, 'chart-'));
    const part = join('../../deploy', folder);
    const isComponent = folder !== '1.36';
    const added = isComponent ? { components: [part] } : {};
    const resources = ['../../deploy', ...(isComponent ? [] : [part])];
    await writeFile(join(overlay, 'kustomization.yaml'), JSON.stringify({ resources, ...added }));
    try {
      const base = compared(await render(cluster, overlay));
      base.delete('Namespace sdewan-system');
      const chart = await shown(...args);
      expectSame(chart, base);
    } finally {
      await rm(overlay, { recursive: true });
    }
  });

  it('keeps the CRDs when a release no longer has them', async () => {
    const crds = objectsOf(await template()).filter(
      ({ kind }) => kind === 'CustomResourceDefinition',
    );
    expect(crds.length).toBeGreaterThan(20);
    for (const { metadata } of crds) expect(metadata.annotations).toMatchObject({ [KEEP]: 'keep' });
  });

  it('lives in whichever namespace its release is in', async () => {
    const { code, out } = await helm('template', 'sdewan', CHART, '--namespace=edge-system');
    const crdless = objectsOf(out).filter(({ kind }) => kind !== 'CustomResourceDefinition');
    expect([code, JSON.stringify(crdless)]).toEqual([
      0,
      expect.not.stringContaining('sdewan-system'),
    ]);
  });

  describe('a value', () => {
    const { values } = chartOf().values;
    /** Most of what is rendered. */
    const withoutCrds = set({ 'crds.install': false });
    const rendered = (given: Readonly<Record<string, unknown>>) =>
      helm('template', ...RELEASE, HAS_POLICIES, ...withoutCrds, ...set(given));
    let usual: Promise<HelmResult> | undefined;

    it.each(values.map((value) => [value.path, value] as const))(
      '%s changes something',
      async (path, { default: value, example, needs }) => {
        const one = needs ? rendered({ ...needs, [path]: value }) : (usual ??= rendered({}));
        const other = await rendered({
          ...needs,
          [path]: path === 'crds.install' ? true : example,
        });
        expect(other).toMatchObject({ code: 0, said: '' });
        expect((await one).out === other.out).toBe(false);
      },
    );

    it('that is missing where it is needed is named: a NetworkPolicy without blocks would let everybody in', async () => {
      const { code, said } = await rendered({ 'networkPolicy.enabled': true });
      expect([code, said]).toEqual([1, expect.stringContaining('apiServerCIDRs: must name')]);
    });

    it('that nobody knows is refused', async () => {
      const schema = z
        .looseObject({ properties: z.record(z.string(), z.looseObject({ type: z.unknown() })) })
        .parse(JSON.parse(await readFile(join(CHART, 'values.schema.json'), 'utf8')));
      const sections = Object.entries(schema.properties).flatMap(([name, { properties }]) =>
        properties === undefined ? [] : [`${name}.`],
      );
      expect(sections.length).toBeGreaterThan(8);
      for (const place of ['', ...sections]) {
        const { code, said } = await helm('template', ...RELEASE, `--set=${place}unknwon=1`);
        expect([place, code]).toEqual([place, 1]);
        expect(said).toContain("additional properties 'unknwon' not allowed");
      }
    });
  });
});
