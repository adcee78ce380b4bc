/**
 * What `kubectl apply -k deploy` installs, as kubectl renders it. Tests take objects from here by
 * kind and name, and never list the files of deploy/: what falls out of the kustomization is
 * missing in the tests, too.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Cluster } from 'kind-test-harness';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';

export const DEPLOY = path.resolve(import.meta.dirname, '../../deploy');
/** Where an installation lives, and what its coordinator is called. */
export const SYSTEM_NAMESPACE = 'sdewan-system';

const manifestSchema = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});
export type Manifest = z.infer<typeof manifestSchema>;

type Kubectl = Pick<Cluster, 'kubectl'>;

/** The objects of a kustomization, in the order in which kubectl applies them. */
export const render = async (cluster: Kubectl, folder: string): Promise<Manifest[]> => {
  const { stdout } = await cluster.kubectl(['kustomize', folder]);
  return parseAllDocuments(stdout).map((document) => manifestSchema.parse(document.toJS()));
};

/**
 * What an overlay installs that adds components of deploy/, such as `opt-in`, and has its own
 * patches.
 */
export const renderWith = (
  cluster: Kubectl,
  components: readonly string[],
  patches: readonly object[] = [],
): Promise<Manifest[]> =>
  renderOverlay(
    cluster,
    JSON.stringify({
      resources: ['../../deploy'],
      components: components.map((name) => `../../deploy/${name}`),
      patches,
    }),
  );

/** `kustomization`: of a folder two beside deploy/. */
export const renderOverlay = async (
  cluster: Kubectl,
  kustomization: string,
): Promise<Manifest[]> => {
  const dist = path.join(DEPLOY, '../dist');
  mkdirSync(dist, { recursive: true });
  const overlay = mkdtempSync(path.join(dist, 'overlay-'));
  try {
    writeFileSync(path.join(overlay, 'kustomization.yaml'), kustomization);
    return await render(cluster, overlay);
  } finally {
    rmSync(overlay, { recursive: true });
  }
};

let rendering: Promise<Manifest[]> | undefined;

/** Rendered once per test file. */
export const installedObjects = (cluster: Kubectl): Promise<readonly Manifest[]> =>
  (rendering ??= render(cluster, DEPLOY));

/** `kind` with `name`. @throws where the installation lacks it */
export const installed = async (
  cluster: Kubectl,
  kind: string,
  name: string,
): Promise<Manifest> => {
  const found = (await installedObjects(cluster)).find(
    (manifest) => manifest.kind === kind && manifest.metadata.name === name,
  );
  if (!found) throw new Error(`deploy/kustomization.yaml installs no ${kind} ${name}`);
  return found;
};

/** For `kubectl apply -f -` and its like. */
export const listOf = (objects: readonly object[]): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });

/** All CRDs. */
export const crdList = async (cluster: Kubectl): Promise<string> => {
  const objects = await installedObjects(cluster);
  return listOf(objects.filter(({ kind }) => kind === 'CustomResourceDefinition'));
};
