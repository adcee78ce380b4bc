/** Sections of UCI as texts that can be compared, whatever the order of their options. */
import { isDeepStrictEqual } from 'node:util';
import { readUci, type DeviceSection } from '../../openwrt/checks/uci.ts';
import type { Word } from '../vocabulary.ts';

export const textOf = ({ type, name = '', options }: DeviceSection): string => {
  const lines = Object.entries(options).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return [`${type} ${name}`, ...lines.sort()].join('\n');
};

/** Sections of UCI text that is written by hand. */
export const textsOf = (uci: string): string[] => readUci(uci).map(textOf);

/**
 * What a word's spec makes; undefined for a spec that is none of its variants. Fields that the API
 * server adds do not matter.
 */
export const expectedOf = (word: Word, spec: unknown): string[] | undefined => {
  const variant = word.variants.find(({ spec: wanted }) => isPartOf(wanted, spec));
  return variant?.text === undefined ? undefined : textsOf(variant.text);
};

const isPartOf = (wanted: object, spec: unknown): boolean => {
  if (typeof spec !== 'object' || spec === null) return false;
  const has = new Map<string, unknown>(Object.entries(spec));
  const isSame = ([key, value]: [string, unknown]): boolean =>
    isDeepStrictEqual(has.get(key), value);
  return Object.entries(wanted).every(isSame);
};

/** Names of all sections that a word ever makes. */
export const sectionNamesOf = ({ variants }: Word): string[] => [
  ...new Set(variants.flatMap(({ text = '' }) => readUci(text).map(({ name = '' }) => name))),
];
