/**
 * A cluster with everything in it that the product's pods run from: processes, or images built from
 * the Dockerfiles.
 */
import { BACKENDS, startCluster, type Backend, type Cluster } from 'kind-test-harness';
import { buildImages } from '../deploy/images/build.ts';
import { archivePath, IMAGE_NAMES } from '../deploy/images/catalog.ts';
import { images, type ImagesOptions } from './images.ts';

/** The backend that tests and the demo run on, when nothing else is said. */
export const BACKEND_VARIABLE = 'SDEWAN_TEST_BACKEND';

/** `watch` and `agentFlags` are for processes; real containers run what was built. */
export type StackOptions = {
  backend: Backend;
  say?: (line: string) => void;
  signal?: AbortSignal;
  /** The number of processes. Default: 1. */
  nodes?: number;
} & ImagesOptions;

export const startStackCluster = async ({
  backend,
  say = () => {},
  signal,
  watch = false,
  agentFlags = [],
  nodes = 1,
}: StackOptions): Promise<Cluster> => {
  const common = { backend, onProgress: say, ...(signal && { signal }) };
  if (backend === 'process')
    return startCluster({ ...common, nodes, images: images({ watch, agentFlags }) });
  await buildImages({ names: IMAGE_NAMES, say });
  return startCluster({ ...common, imageArchives: IMAGE_NAMES.map(archivePath) });
};

/** @throws Error that says what there is. */
export const parseBackend = (
  name: string = process.env[BACKEND_VARIABLE] ?? 'process',
): Backend => {
  const backend = BACKENDS.find((each) => each === name);
  if (!backend) throw new Error(`no backend "${name}": there are ${BACKENDS.join(', ')}`);
  return backend;
};
