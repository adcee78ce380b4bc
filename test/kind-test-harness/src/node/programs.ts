/** The node's own programs, built into the cache: those of Kubernetes, the helper, and CoreDNS. */
import { access, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { choosePrograms, type Programs } from '../control-plane/programs.ts';
import { buildGoProgram, type GoProgram } from '../go-build.ts';
import { writeImageArchive } from '../image-archive.ts';
import { PAUSE_IMAGE } from './files.ts';

const HARNESS = join(import.meta.dirname, '../..');

const HELPER: GoProgram = {
  name: 'node-helper',
  sources: join(HARNESS, 'node-helper'),
  binary: 'node-helper',
  flags: ['-ldflags', '-s -w'],
  coldBuildCoreSeconds: 20,
};

const CLUSTER_DNS: GoProgram = {
  name: 'cluster-dns',
  sources: join(HARNESS, 'cluster-dns'),
  binary: 'cluster-dns',
  flags: ['-ldflags', '-s -w'],
  coldBuildCoreSeconds: 120,
};

export type NodePrograms = {
  kubernetes: Programs;
  helper: string;
  clusterDns: string;
  /** Archive of the pods' sandbox image. */
  pauseImage: string;
};

type Deps = {
  env: NodeJS.ProcessEnv;
  say: (line: string) => void;
  signal?: AbortSignal | undefined;
};

/** Builds what is not in the cache, one after the other: Go takes all cores by itself. */
export const prepareNodePrograms = async (deps: Deps): Promise<NodePrograms> => {
  const kubernetes = await choosePrograms({ variant: 'node', ...deps });
  const helper = await buildGoProgram(HELPER, deps);
  const clusterDns = await buildGoProgram(CLUSTER_DNS, deps);
  return { kubernetes, helper, clusterDns, pauseImage: await preparePauseImage(helper) };
};

/**
 * The helper alone is the image: without arguments it pauses. Kept beside the helper that it is
 * made of.
 */
const preparePauseImage = async (helper: string): Promise<string> => {
  const archive = join(dirname(helper), 'pause.tar');
  const isThere = await access(archive).then(
    () => true,
    () => false,
  );
  if (!isThere) {
    const unfinished = `${archive}.${process.pid}`;
    await writeImageArchive(unfinished, {
      name: PAUSE_IMAGE,
      entries: [{ path: '/pause', source: helper }],
      entrypoint: ['/pause'],
    });
    await rename(unfinished, archive);
  }
  return archive;
};
