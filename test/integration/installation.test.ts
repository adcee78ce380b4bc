/**
 * Everything that `kubectl apply -k deploy` installs, by kind and name, with what hangs on a name
 * inside: webhooks, and the subjects of bindings. An object that falls out of the kustomization is
 * a line less in the golden file. `UPDATE=1` rewrites it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { connectCluster } from 'kind-test-harness';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import {
  installedObjects,
  renderOverlay,
  renderWith,
  type Manifest,
} from '../stack/installation.ts';
import { sdewan } from '../stack/sdewan.ts';

const GOLDEN = new URL('../golden/installation.txt', import.meta.url).pathname;

const partsSchema = z.object({
  webhooks: z
    .array(
      z.object({
        name: z.string(),
        failurePolicy: z.string(),
      }),
    )
    .default([]),
  roleRef: z.object({ kind: z.string(), name: z.string() }).optional(),
  subjects: z
    .array(z.object({ kind: z.string(), namespace: z.string(), name: z.string() }))
    .default([]),
  spec: z
    .object({
      policyName: z.string().optional(),
      validationActions: z.array(z.string()).default([]),
      validations: z.array(z.unknown()).default([]),
    })
    .default({ validationActions: [], validations: [] }),
});

const linesOf = (object: Manifest): string[] => {
  const { namespace, name } = object.metadata;
  const { webhooks, roleRef, subjects, spec } = partsSchema.parse(object);
  return [
    `${object.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`,
    ...webhooks.map(({ name: webhook, failurePolicy }) => `  ${webhook} ${failurePolicy}`),
    ...(roleRef ? [`  ${roleRef.kind} ${roleRef.name}`] : []),
    ...subjects.map((subject) => `  ${subject.kind} ${subject.namespace}/${subject.name}`),
    ...(spec.policyName === undefined
      ? []
      : [`  ${spec.policyName} ${spec.validationActions.join()}`]),
    ...(spec.validations.length > 0 ? [`  ${spec.validations.length} validations`] : []),
  ];
};

it('installs what the golden file lists, and nothing else', async () => {
  const objects = await installedObjects(await connectCluster());
  const text = `${objects.flatMap(linesOf).join('\n')}\n`;
  if (process.env['UPDATE']) writeFileSync(GOLDEN, text);
  expect(text).toBe(readFileSync(GOLDEN, 'utf8'));
});

it('is what `sdewan install` prints', async () => {
  const cluster = await connectCluster();
  const { code, out } = await sdewan(cluster, 'install');
  const printed = parseAllDocuments(out).map((document): unknown => document.toJS());
  const objects = [...(await installedObjects(cluster))];
  expect([code, printed.length]).toEqual([0, objects.length]);
  expect(printed).toEqual(expect.arrayContaining(objects));
});

it('labels everything that it installs, so that uninstalling finds it', async () => {
  const objects = await installedObjects(await connectCluster());
  const label = { 'app.kubernetes.io/part-of': 'sdewan' };
  for (const { kind, metadata } of objects)
    expect({ kind, ...metadata }).toMatchObject({ kind, labels: label });
});

it('has other images by the overlay of docs/images.md', async () => {
  const page = readFileSync(new URL('../../docs/images.md', import.meta.url), 'utf8');
  const [, overlay = ''] = /^```yaml\n(resources: [^]*?)^```$/m.exec(page) ?? [];
  const objects = await renderOverlay(await connectCluster(), overlay);
  const text = JSON.stringify(objects.find(({ kind }) => kind === 'Deployment'));
  const own = (name: string): string => `registry.example/${name}:1.0`;
  expect(text).toContain(`"image":"${own('sdewan-coordinator')}"`);
  expect(text).toContain(`{"name":"SDEWAN_AGENT_IMAGE","value":"${own('sdewan-agent')}"}`);
  expect(text).not.toContain(':dev');
});

it('has a NetworkPolicy that an overlay can add, with the addresses of API servers to be patched', async () => {
  const cluster = await connectCluster();
  const from = [{ ipBlock: { cidr: '10.0.0.10/32' } }];
  const objects = await renderWith(
    cluster,
    ['network-policy'],
    [
      {
        target: { kind: 'NetworkPolicy', name: 'sdewan-coordinator' },
        patch: JSON.stringify([{ op: 'replace', path: '/spec/ingress/0/from', value: from }]),
      },
    ],
  );
  const added = objects.filter(({ kind }) => kind === 'NetworkPolicy');
  expect(added).toMatchObject([
    {
      metadata: { namespace: 'sdewan-system' },
      spec: {
        podSelector: { matchLabels: { app: 'sdewan-coordinator' } },
        ingress: [{ from }, { ports: [{ port: 'https' }] }, { ports: [{ port: 'health' }] }],
      },
    },
  ]);
  expect(objects).toHaveLength((await installedObjects(cluster)).length + 1);
  const dryRun = ['create', '--dry-run=server', '--namespace=default', '-f', '-'];
  const [policy] = added;
  const stdin = JSON.stringify({
    ...policy,
    metadata: { ...policy?.metadata, namespace: 'default' },
  });
  expect(await cluster.kubectl(dryRun, { stdin })).toMatchObject({ code: 0 });
});

it('has no policy with parameters, which an API server no longer finds once it was removed', async () => {
  const objects = await installedObjects(await connectCluster());
  expect(objects.filter((object) => /"param(Kind|Ref)"/.test(JSON.stringify(object)))).toEqual([]);
});
