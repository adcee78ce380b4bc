/**
 * The images of this repository: their names, what they are made from, and where `npm run images`
 * leaves them.
 */
import { join } from 'node:path';

import { AGENT_IMAGE, CNF_IMAGE, COORDINATOR_IMAGE } from '../../stack/images.ts';

export const ROOT = join(import.meta.dirname, '../../..');
export const OUTPUT = join(ROOT, 'dist/images');

export type ImageSource = {
  /** Full name with registry and tag. */
  tag: string;
  dockerfile: string;
  entry: string;
  /** Further programs in the bundle, by name. */
  others?: Readonly<Record<string, string>>;
  /** The folder of its bundle. */
  bundle: string;
};

export const IMAGE_NAMES = ['agent', 'coordinator', 'openwrt'] as const;
export type ImageName = (typeof IMAGE_NAMES)[number];

export const IMAGES: Readonly<Record<ImageName, ImageSource>> = {
  agent: {
    tag: `docker.io/library/${AGENT_IMAGE}`,
    dockerfile: 'Dockerfile.agent',
    entry: 'agent/main.ts',
    bundle: 'dist/agent',
  },
  coordinator: {
    tag: `docker.io/library/${COORDINATOR_IMAGE}`,
    dockerfile: 'Dockerfile.coordinator',
    entry: 'coordinator/main.ts',
    others: { sdewan: 'coordinator/cli/main.ts' },
    bundle: 'dist/coordinator',
  },
  openwrt: {
    tag: `docker.io/${CNF_IMAGE}`,
    dockerfile: 'test/openwrt/simulator/Dockerfile',
    entry: 'test/openwrt/simulator/image.ts',
    bundle: 'dist/openwrt-simulator',
  },
};

/** The docker-archive of an image, for `Cluster.loadImages`. */
export const archivePath = (name: ImageName): string => join(OUTPUT, `${name}.tar`);
