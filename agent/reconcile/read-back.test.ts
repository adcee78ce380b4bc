import { expect, it } from 'vitest';
import type { Rejected } from './pass-state.ts';
import { createReadBacks } from './read-back.ts';

const lacking = (sections: string[], name = 'firewall'): Rejected => ({
  outcome: 'rejected',
  package: name,
  message: 'it is not there',
  sections,
  perhapsOthers: true,
});
const refused = (sections: string[]): Rejected => ({
  outcome: 'rejected',
  package: 'firewall',
  message: 'no such protocol',
  sections,
});

it.each<[string, Rejected[], (string[] | undefined)[]]>([
  ['what OpenWRT refuses is blamed at once', [refused(['a'])], [['a']]],
  ['what it lacks once is not', [lacking(['a'])], [undefined]],
  ['what it lacks twice is', [lacking(['a']), lacking(['a'])], [undefined, ['a']]],
  [
    'of two read-backs only what both lack is',
    [lacking(['a', 'b']), lacking(['b', 'c'])],
    [undefined, ['b']],
  ],
  [
    'something else each time is not',
    [lacking(['a']), lacking(['b']), lacking(['a'])],
    [undefined, undefined, undefined],
  ],
  [
    'sections of the same name in two packages are two',
    [lacking(['a']), lacking(['a'], 'mwan3')],
    [undefined, undefined],
  ],
  [
    'a refusal between them begins anew',
    [lacking(['a']), refused(['b']), lacking(['a'])],
    [undefined, ['b'], undefined],
  ],
  [
    'where it never names one, the search begins at the second',
    [lacking([]), lacking([])],
    [undefined, []],
  ],
])('%s', (_what, results, blamed) => {
  const readBacks = createReadBacks();
  expect(results.map((result) => readBacks.toBlame(result)?.sections)).toEqual(blamed);
});
