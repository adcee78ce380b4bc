/** The manifests of test/deploy/manifests, applied with kubectl as an operator would. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Cluster } from 'kind-test-harness';
import { seedRules } from '../openwrt/checks/seed-rules.ts';

export const manifestPath = (name: string): string =>
  path.resolve(import.meta.dirname, '../deploy/manifests', name);

export const readManifest = (name: string): Promise<string> => readFile(manifestPath(name), 'utf8');

export const applyManifest = async (
  cluster: Cluster,
  namespace: string,
  name: string,
): Promise<void> => {
  await cluster.kubectl(['apply', '-n', namespace, '-f', manifestPath(name)]);
};

/** Users first: what another rule uses is not deleted (admission refuses it). */
export const removeSeedRules = async (cluster: Cluster, namespace: string): Promise<void> => {
  const names = seedRules.map((id) => id.toLowerCase()).reverse();
  await cluster.kubectl(['delete', '-n', namespace, '--wait=false', ...names]);
};
