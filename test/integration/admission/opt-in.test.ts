/** deploy/opt-in, put beside deploy/ as docs/admission.md says, and rendered by kubectl. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { connectCluster, type Cluster } from 'kind-test-harness';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { installedObjects, render, type Manifest } from '../../stack/installation.ts';

const ROOT = join(import.meta.dirname, '../../..');
const LABEL = 'sdewan.akraino.org/inject';

const configuration = z.object({
  webhooks: z
    .array(
      z.object({
        name: z.string(),
        namespaceSelector: z.object({ matchExpressions: z.array(z.unknown()) }).optional(),
      }),
    )
    .optional(),
});

let cluster: Cluster;
let overlay: string;
beforeAll(async () => {
  cluster = await connectCluster();
  await mkdir(join(ROOT, 'dist'), { recursive: true });
  overlay = await mkdtemp(join(ROOT, 'dist/opt-in-'));
});
afterAll(() => rm(overlay, { recursive: true, force: true }));

const OVERLAY = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../../deploy]
components: [../../deploy/opt-in]
`;

/** Webhook -> what it says of namespaces; kustomize puts what it patched first. */
const selectionsIn = (objects: readonly Manifest[]): [string, unknown][] =>
  objects
    .flatMap((object) => configuration.parse(object).webhooks ?? [])
    .map(({ name, namespaceSelector }): [string, unknown] => [
      name,
      namespaceSelector?.matchExpressions ?? [],
    ])
    .sort(([one], [other]) => (one < other ? -1 : 1));

const withoutWebhooks = (objects: readonly Manifest[]): Manifest[] =>
  objects.filter(({ kind }) => !kind.endsWith('WebhookConfiguration'));

it('turns every opt-out of a namespace into an opt-in, and changes nothing else', async () => {
  const plain = await installedObjects(cluster);
  await writeFile(join(overlay, 'kustomization.yaml'), OVERLAY);
  const optIn = await render(cluster, overlay);
  const optOut = [{ key: LABEL, operator: 'NotIn', values: ['disabled'] }];
  const expected = selectionsIn(plain).map(([name, selection]) => [
    name,
    isDeepStrictEqual(selection, optOut)
      ? [{ key: LABEL, operator: 'In', values: ['enabled'] }]
      : selection,
  ]);
  expect(expected).not.toEqual(selectionsIn(plain));
  expect(selectionsIn(optIn)).toEqual(expected);
  expect(withoutWebhooks(optIn)).toEqual(withoutWebhooks(plain));
});
