/**
 * The images that the process kubelet can run: a file each in the cluster's folder, so that any
 * process that uses the cluster can register one without asking the owner.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { hasCode } from './errors.ts';
import type { ImageProcess } from './types.ts';

export type ImageStore = {
  register: (images: Readonly<Record<string, ImageProcess>>) => void;
  /** Read anew each time: another process may have registered it a moment ago. */
  find: (image: string) => ImageProcess | undefined;
  /** The names of all that are registered, sorted. */
  names: () => string[];
};

/** A program is registered by its name and tag: `host/name:tag@sha256:…` is the same one. */
const withoutDigest = (image: string): string => image.replace(/@sha256:[0-9a-f]{64}$/, '');

export const createImageStore = (directory: string): ImageStore => {
  mkdirSync(directory, { recursive: true });
  const fileOf = (image: string) =>
    join(directory, `${createHash('sha256').update(image).digest('hex').slice(0, 32)}.json`);

  const read = (file: string): { image: string; entry: ImageProcess } =>
    JSON.parse(readFileSync(file, 'utf8'));

  return {
    register: (images) => {
      for (const [image, entry] of Object.entries(images)) {
        const unfinished = `${fileOf(image)}.${process.pid}`;
        writeFileSync(unfinished, JSON.stringify({ image, entry }));
        renameSync(unfinished, fileOf(image));
      }
    },
    find: (image) => {
      try {
        return read(fileOf(withoutDigest(image))).entry;
      } catch (error) {
        if (hasCode(error, 'ENOENT')) return undefined;
        throw error;
      }
    },
    names: () =>
      readdirSync(directory)
        .filter((file) => file.endsWith('.json'))
        .map((file) => read(join(directory, file)).image)
        .toSorted(),
  };
};
