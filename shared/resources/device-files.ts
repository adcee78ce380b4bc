/**
 * Files on the OpenWRT that sections refer to: a part of it beside its packages, each file an item
 * of that part, whose name is its path. Certificates have names made of their content, so that what
 * refers to one never sees it change; other files may change.
 */
import { createHash } from 'node:crypto';
import type { UciSection, UciValue } from '../uci/model.ts';
import type { UciRendering } from './kind.ts';
import { section } from './render.ts';

/** As ledgers of all versions know it. */
const DEVICE_FILES = 'ipsec-files';

/** All files of ours, and nothing else, in a folder. */
export const OWN_FILES = { prefix: 'sdewan-', suffix: '.pem' } as const;

export const fileSection = (path: string, content: string): UciSection =>
  section('file', path, { content });

/** 128 bits of SHA-256: tells contents apart, and nothing about a key. */
export const ownFileName = (content: string): string =>
  `${OWN_FILES.prefix}${createHash('sha256').update(content).digest('hex').slice(0, 32)}${OWN_FILES.suffix}`;

export const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

export const deviceFiles = {
  name: DEVICE_FILES,
  desired: ({ files }: UciRendering<unknown>) => files,
  /** By their paths or by their bare names; several can stand in one option. */
  referredTo: (sections: readonly UciSection[], files: readonly UciSection[]) => {
    const values = new Set(
      sections.flatMap(({ options }) => Object.values(options)).flatMap(partsOf),
    );
    return files.filter(({ name }) => values.has(name) || values.has(baseName(name)));
  },
};

const partsOf = (value: UciValue): readonly string[] =>
  typeof value === 'string' ? value.split(', ') : value;
