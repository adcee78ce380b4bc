/**
 * The chart, as the real Helm renders it: what deploy/ installs, object by object, and each of its
 * values changes something.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectCluster } from 'kind-test-harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { chartOf } from '../../../deploy/generate/chart/templates.ts';
import { buildHelm, CHART, helmOf, type Helm } from '../../stack/helm.ts';
import {
  DEPLOY,
  installedObjects,
  render,
  renderWith,
  type Manifest,
} from '../../stack/installation.ts';
import { aliasOf, textsOf, writeCases } from './cases.ts';

const RELEASE = ['sdewan', CHART, '--namespace=sdewan-system'];
const WITHOUT_CRDS = '--set=crds.install=false';
const NAMESPACE = 'Namespace sdewan-system';
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

/** As they are to be compared: Helm has one word of its own on CRDs. */
const compared = (objects: readonly Shown[] | readonly Manifest[]): Map<string, unknown> =>
  new Map(
    objects.map((object) => {
      const { apiVersion, kind, metadata, ...rest } = objectSchema.parse(object);
      const { namespace, annotations = {}, ...others } = metadata;
      const { [KEEP]: _, ...own } = annotations;
      const key = `${kind} ${namespace === undefined ? '' : `${namespace}/`}${metadata.name}`;
      const named = Object.keys(own).length === 0 ? others : { ...others, annotations: own };
      return [key, { apiVersion, kind, metadata: { ...named, namespace }, ...rest }];
    }),
  );

type Objects = ReadonlyMap<string, unknown>;
/** They are most of the text, and compared once. */
const withoutCrds = (objects: Objects): Map<string, unknown> =>
  new Map([...objects].filter(([key]) => !key.startsWith('CustomResourceDefinition ')));
/** One after the other, so that what differs is shown alone. */
const expectSame = (chart: Objects, base: Objects): void => {
  expect([...chart.keys()].sort()).toEqual([...base.keys()].sort());
  for (const [key, object] of base)
    expect([key, alike(chart.get(key))]).toEqual([key, alike(object)]);
};

/**
 * kustomize puts what it merges into a list of named items to its front, and an empty line into
 * folded text.
 */
const alike = (value: unknown): unknown => {
  if (Array.isArray(value)) {
    const names = value.map((item) => named.safeParse(item).data?.name);
    const items = value.map(alike);
    return names.includes(undefined)
      ? items
      : items
          .map((item, at) => ({ item, name: names[at] ?? '' }))
          .sort((a, b) => a.name.localeCompare(b.name))
          .map(({ item }) => item);
  }
  if (typeof value === 'string') return value.replaceAll('\n\n', '\n');
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, alike(part)]));
};
const named = z.looseObject({ name: z.string() });

describe('the chart', async () => {
  const cluster = await connectCluster();
  let home = '';
  let helm: Helm;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sdewan-helm-'));
    helm = helmOf(await buildHelm(), home);
  });
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
  let whole: Promise<Shown[]> | undefined;
  /** With its default values. To read it takes seconds. */
  const usual = (): Promise<Shown[]> => (whole ??= template().then(objectsOf));
  /** Without what it runs before an end. */
  const shown = (objects: readonly Shown[]): Map<string, unknown> =>
    compared(objects.filter(({ metadata }) => !metadata.annotations?.[HOOK]));
  const shownWith = async (...args: string[]): Promise<Map<string, unknown>> =>
    shown(objectsOf(await template(WITHOUT_CRDS, ...args)));
  const base = async (): Promise<Map<string, unknown>> => {
    const objects = compared(await installedObjects(cluster));
    expect(objects.delete(NAMESPACE)).toBe(true);
    return objects;
  };

  it('has nothing that Helm finds wrong', async () => {
    expect(await helm('lint', '--strict', CHART)).toMatchObject({
      code: 0,
      out: expect.stringContaining('0 chart(s) failed'),
    });
  });

  it('is what deploy/ installs, object by object, but for the namespace, which Helm makes', async () => {
    expectSame(shown(await usual()), await base());
  });

  it('has the same of deploy/1.36', async () => {
    const chart = await shownWith(HAS_POLICIES);
    const added = compared(await render(cluster, join(DEPLOY, '1.36')));
    expect(added.size).toBeGreaterThan(1);
    expectSame(chart, new Map([...withoutCrds(await base()), ...added]));
  });

  it.each([
    ['dashboard', '--set=dashboard.enabled=true'],
    ['opt-in', '--set=optIn=true'],
  ])('has the same of deploy/%s', async (component, value) => {
    const overlay = withoutCrds(compared(await renderWith(cluster, [component])));
    expect(overlay.delete(NAMESPACE)).toBe(true);
    expectSame(await shownWith(value), overlay);
  });

  it('keeps the CRDs when a release no longer has them', async () => {
    const crds = (await usual()).filter(({ kind }) => kind === 'CustomResourceDefinition');
    expect(crds.length).toBeGreaterThan(20);
    for (const { metadata } of crds) expect(metadata.annotations).toMatchObject({ [KEEP]: 'keep' });
  });

  it('lives in whichever namespace its release is in', async () => {
    const place = ['sdewan', CHART, '--namespace=edge-system'];
    const { code, out } = await helm('template', ...place, WITHOUT_CRDS);
    expect([code, out]).toEqual([0, expect.not.stringContaining('sdewan-system')]);
    expect(out).toContain('namespace: edge-system');
  });

  describe('a value', () => {
    const { values } = chartOf().values;
    /** Without a default of its own. */
    const required = new Map([['networkPolicy.apiServerCIDRs', ['192.0.2.0/24']]]);
    /** The usual value and the other one, where it says something. */
    const cases = values.flatMap(({ path, default: usual, example, needs }) => [
      { ...needs, [path]: required.get(path) ?? usual },
      { ...needs, [path]: example },
    ]);
    let texts: ReadonlyMap<string, string>;
    beforeAll(async () => {
      const folder = join(home, 'cases');
      await writeCases(folder, cases);
      const { out, said } = await helm('template', 'sdewan', folder, HAS_POLICIES);
      if (said !== '') throw new Error(said);
      texts = textsOf(out);
    });

    it.each(values.map(({ path }, at) => [path, at] as const))('%s changes something', (_, at) => {
      const usual = texts.get(aliasOf(2 * at));
      expect(usual?.length).toBeGreaterThan(10_000);
      expect(texts.get(aliasOf(2 * at + 1)) === usual).toBe(false);
    });

    it('is named when it is missing where it is needed: a NetworkPolicy without blocks would let all in', async () => {
      const { code, said } = await helm('template', ...RELEASE, '--set=networkPolicy.enabled=true');
      expect([code, said]).toEqual([1, expect.stringContaining('apiServerCIDRs: must name')]);
    });

    it('is refused when it is not known', async () => {
      const sections = ['', ...Object.keys(chartOf().values.sections).map((path) => `${path}.`)];
      expect(sections.length).toBeGreaterThan(8);
      const folder = join(home, 'unknown');
      await writeCases(
        folder,
        sections.map((section) => ({ [`${section}unknwon`]: 1 })),
      );
      const { code, said } = await helm('template', 'sdewan', folder);
      expect(code).toBe(1);
      const refused = sections.map((section, at) => {
        const place = section === '' ? '' : `/${section.slice(0, -1).replaceAll('.', '/')}`;
        return `${aliasOf(at)}:\n- at '${place}': additional properties 'unknwon' not allowed`;
      });
      for (const words of refused) expect(said).toContain(words);
    });
  });
});
