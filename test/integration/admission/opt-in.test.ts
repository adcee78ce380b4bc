/** deploy/opt-in, put beside deploy/ as docs/admission.md says, and rendered by kubectl. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { connectCluster, type Cluster } from 'kind-test-harness';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';

const ROOT = join(import.meta.dirname, '../../..');
const LABEL = 'sdewan.akraino.org/inject';

const configuration = z.object({
  kind: z.string(),
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

const render = async (lines: readonly string[]): Promise<string> => {
  const head = 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n';
  await writeFile(join(overlay, 'kustomization.yaml'), `${head}${lines.join('\n')}\n`);
  return (await cluster.kubectl(['kustomize', overlay])).stdout;
};
const RESOURCES = 'resources: [../../deploy]';
const COMPONENTS = 'components: [../../deploy/opt-in]';

/** Webhook -> what it says of namespaces; kustomize puts what it patched first. */
const selectionsIn = (manifests: string): [string, unknown][] =>
  parseAllDocuments(manifests)
    .map((document) => configuration.parse(document.toJS()))
    .flatMap(({ webhooks = [] }) => webhooks)
    .map(({ name, namespaceSelector }): [string, unknown] => [
      name,
      namespaceSelector?.matchExpressions ?? [],
    ])
    .sort(([one], [other]) => (one < other ? -1 : 1));

it('turns every opt-out of a namespace into an opt-in', async () => {
  const plain = await render([RESOURCES]);
  const optIn = await render([RESOURCES, COMPONENTS]);
  const optOut = [{ key: LABEL, operator: 'NotIn', values: ['disabled'] }];
  const expected = selectionsIn(plain).map(([name, selection]) => [
    name,
    isDeepStrictEqual(selection, optOut)
      ? [{ key: LABEL, operator: 'In', values: ['enabled'] }]
      : selection,
  ]);
  expect(expected).not.toEqual(selectionsIn(plain));
  expect(selectionsIn(optIn)).toEqual(expected);
});
