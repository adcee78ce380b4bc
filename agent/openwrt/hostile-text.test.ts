/**
 * Root on an OpenWRT decides what it prints. Each text is one for which an expression that
 * backtracks takes the square of its length: minutes, in which the agent does nothing else.
 */
import { expect, it } from 'vitest';
import { messageIn } from './icn/client.ts';
import { nameIn } from './kernel/listing.ts';
import { setsIn } from './network-policy/listing.ts';
import { lastWordsIn } from './services/charon-words.ts';
import { readReload, SILENT } from './services/fw4-reload.ts';

/** A thousand times as long as it takes. */
const HANGS_MS = 20_000;
const ELEMENTS = `\tset a {\n${'elements = {'.repeat(65_536)}\n\t}`;

it.each<[string, () => unknown, unknown]>([
  ['sets without an end', () => setsIn('\tset a {\n'.repeat(131_072)), new Map()],
  ['elements without an end', () => setsIn(ELEMENTS), new Map([['a', new Set()]])],
  ['comments in a comment', () => nameIn(' comment "!fw4: '.repeat(65_536)), undefined],
  ['tags without an end', () => messageIn('<'.repeat(131_072)), '<'.repeat(300)],
  ['words of charon', () => lastWordsIn(`${'1[A] '.repeat(131_072)}\r`), new Map()],
  [
    'a warning',
    () => readReload(`[!] Section a ${'(a) '.repeat(131_072)}\r\r`, []).refusal,
    SILENT.refusal,
  ],
])(
  '%s are read in one go',
  (_what, read, expected) => {
    expect(read()).toEqual(expected);
  },
  HANGS_MS,
);
