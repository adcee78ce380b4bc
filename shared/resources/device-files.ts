/**
 * Files on the OpenWRT that sections refer to. Compiled, compared, written and read back like the sections of one more package;
 * drivers that cannot write files do not have that package. A file has one content for ever: its name is made of it, so that what
 * refers to it never sees it change.
 */
import { createHash } from 'node:crypto';
import type { UciSection } from '../uci/model.ts';
import { section } from './render.ts';

/** No package of UCI: none of ours has a dash. */
export const DEVICE_FILES = 'ipsec-files';

/** All files of ours, and nothing else, in a folder. */
export const OWN_FILES = { prefix: 'sdewan-', suffix: '.pem' } as const;

/** What a section of `DEVICE_FILES` is: its name is the path. */
export const fileSection = (path: string, content: string): UciSection =>
  section('file', path, { content });

/** 128 bits of SHA-256: tells contents apart, and nothing about a key. */
export const ownFileName = (content: string): string =>
  `${OWN_FILES.prefix}${createHash('sha256').update(content).digest('hex').slice(0, 32)}${OWN_FILES.suffix}`;

export const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
