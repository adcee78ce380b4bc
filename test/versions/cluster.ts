/** A cluster on which both versions can run: each has images and a kustomization of its own. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startCluster, type Cluster } from 'kind-test-harness';
import { COMPILE_CACHE } from '../stack/compile-cache.ts';
import { coordinatorReady } from '../stack/faults.ts';
import { images } from '../stack/images.ts';
import { DEPLOY } from '../stack/installation.ts';
import type { Frozen } from './frozen.ts';

const AGENT = 'sdewan-agent:baseline';
const COORDINATOR = 'sdewan-coordinator';
const TAG = 'baseline';

export type Version = 'baseline' | 'today';

export type TwoVersions = {
  cluster: Cluster;
  /** As an operator moves to that version, up or down: `kubectl apply -k`, and it serves. */
  install: (version: Version) => Promise<void>;
  stop: () => Promise<void>;
};

export const startTwoVersions = async ({ programs, deploy }: Frozen): Promise<TwoVersions> => {
  const image = (file: string) => ({ command: [process.execPath, file], env: COMPILE_CACHE });
  const cluster = await startCluster({
    images: {
      ...images(),
      [AGENT]: image(programs.agent),
      [`${COORDINATOR}:${TAG}`]: image(programs.coordinator),
    },
  });
  const folder = await mkdtemp(path.join(tmpdir(), 'sdewan-baseline-'));
  await writeFile(path.join(folder, 'kustomization.yaml'), overlay(path.relative(folder, deploy)));
  const folders: Readonly<Record<Version, string>> = { baseline: folder, today: DEPLOY };
  return {
    cluster,
    install: async (version) => {
      await cluster.kubectl(['apply', '-k', folders[version]]);
      await coordinatorReady(cluster);
    },
    stop: async () => {
      await cluster.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};

/** As docs/images.md says that an operator names images. */
const overlay = (deploy: string): string =>
  JSON.stringify({
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: [deploy],
    images: [{ name: COORDINATOR, newTag: TAG }],
    patches: [
      {
        target: { kind: 'Deployment', name: 'sdewan-coordinator' },
        patch: JSON.stringify([
          {
            op: 'add',
            path: '/spec/template/spec/containers/0/env/-',
            value: { name: 'SDEWAN_AGENT_IMAGE', value: AGENT },
          },
        ]),
      },
    ],
  });
