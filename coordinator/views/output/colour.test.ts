import { stripVTControlCharacters, styleText } from 'node:util';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { coloured } from './colour.ts';

const codesOf = (style: 'bold' | 'green' | 'red' | 'yellow'): [string, string] => {
  const [on = '', off = ''] = styleText(style, ' ', { validateStream: false }).split(' ');
  return [on, off];
};

/** Each part with its colour, in their order. */
const partsOf = (text: string): [string, string][] => {
  const found: [number, string, string][] = [];
  const marked = coloured(text);
  for (const style of ['bold', 'green', 'red', 'yellow'] as const) {
    const [on, off] = codesOf(style);
    for (let at = marked.indexOf(on); at >= 0; at = marked.indexOf(on, at + 1))
      found.push([at, style, marked.slice(at + on.length, marked.indexOf(off, at))]);
  }
  return found.sort(([one], [other]) => one - other).map(([, style, part]) => [style, part]);
};

it.each([
  [
    'CNF     PODS   RULES IN SYNC\ncnf-1   2/2    3/4\n',
    [['bold', 'CNF     PODS   RULES IN SYNC']],
  ],
  [
    'FirewallRule/r of cnf-1: not in sync for 5s: WaitingForReference\n  cause: no zone\n  cure:  make it\n',
    [
      ['red', 'not in sync'],
      ['yellow', 'WaitingForReference'],
      ['red', 'cause:'],
      ['yellow', 'cure:'],
    ],
  ],
  [
    '✓ kinds\n✗ pods\n? versions\n',
    [
      ['green', '✓'],
      ['red', '✗'],
      ['yellow', '?'],
    ],
  ],
  [
    "  config rule 'r'\n-   option dest_port '80'\n+   option dest_port 'accepted'\n",
    [
      ['red', "-   option dest_port '80'"],
      ['green', "+   option dest_port 'accepted'"],
    ],
  ],
  // A table's line: a rule that is in no package.
  ['-          CNFService/web   2/2    InSync   5s\n', [['green', 'InSync']]],
  [
    'accepted: leaves by net2, dropped before\n',
    [
      ['green', 'accepted'],
      ['red', 'dropped'],
    ],
  ],
  ['a rule in one line, InSyncing the LAN\n', []],
])('%j', (text, parts) => {
  expect(partsOf(text)).toEqual(parts);
});

it('changes nothing but colours', () => {
  const word = fc.constantFrom('NAME', '   ', ' ', '\n', '- ', '+ ', '✓', 'cause:', 'InSync', 'x');
  fc.assert(
    fc.property(fc.array(word), (words) => {
      const text = words.join('');
      expect(stripVTControlCharacters(coloured(text))).toBe(text);
    }),
  );
});
