/** The images of this repository: their names, what they are made from, and where `npm run images` leaves them. */
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');
export const OUTPUT = join(ROOT, 'dist/images');

export type ImageSource = {
  /** Full name with tag; pods say it with or without `docker.io/library/`. */
  tag: string;
  dockerfile: string;
  entry: string;
  /** The folder of its bundle. */
  bundle: string;
};

export const IMAGE_NAMES = ['agent', 'coordinator', 'openwrt'] as const;
export type ImageName = (typeof IMAGE_NAMES)[number];

export const IMAGES: Readonly<Record<ImageName, ImageSource>> = {
  agent: {
    tag: 'docker.io/library/sdewan-agent:dev',
    dockerfile: 'Dockerfile.agent',
    entry: 'agent/main.ts',
    bundle: 'dist/agent',
  },
  coordinator: {
    tag: 'docker.io/library/sdewan-coordinator:dev',
    dockerfile: 'Dockerfile.coordinator',
    entry: 'coordinator/main.ts',
    bundle: 'dist/coordinator',
  },
  openwrt: {
    tag: 'docker.io/library/openwrt-simulator:dev',
    dockerfile: 'test/openwrt-simulator/Dockerfile',
    entry: 'test/openwrt-simulator/image.ts',
    bundle: 'dist/openwrt-simulator',
  },
};

/** The docker-archive of an image, for `Cluster.loadImages`. */
export const archivePath = (name: ImageName): string => join(OUTPUT, `${name}.tar`);
