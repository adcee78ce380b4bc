import { expect, it } from 'vitest';
import { byTime, lineOf } from './line.ts';

const AT = '2026-01-01T00:00:01.500Z';
const json = (fields: object): string =>
  JSON.stringify({
    level: 'info',
    time: AT,
    name: 'sdewan-agent',
    msg: 'agent started',
    ...fields,
  });

it.each<[string, string, string]>([
  [
    'has time, pod, level and message, then its fields',
    json({ purpose: 'cnf-1', count: 3 }),
    '2026-01-01 00:00:01.500 cnf-1-a INFO  agent started purpose=cnf-1 count=3',
  ],
  [
    'shows an error by its message, without its stack',
    json({ level: 'error', err: { type: 'E', message: 'no answer', stack: 'at x' } }),
    '2026-01-01 00:00:01.500 cnf-1-a ERROR agent started err="no answer"',
  ],
  [
    'shows what a terminal would act on',
    json({ msg: 'a\u001B[31mred' }),
    '2026-01-01 00:00:01.500 cnf-1-a INFO  a\\u001b[31mred',
  ],
  ['of no JSON stays as it is', 'Killed', 'cnf-1-a Killed'],
  ['of another JSON stays as it is', '{"a":1}', 'cnf-1-a {"a":1}'],
])('a line %s', (_what, raw, text) => {
  expect(lineOf(raw, 'cnf-1-a').text).toBe(text);
});

it('lines of several pods come by time, and those without one stay where they were', () => {
  const at = (time: number | undefined, text: string) => ({ time, text });
  const lines = byTime([
    [at(1, 'a1'), at(undefined, 'a-stack'), at(5, 'a5')],
    [at(undefined, 'b-first'), at(2, 'b2'), at(5, 'b5')],
  ]);
  expect(lines.map(({ text }) => text)).toEqual(['b-first', 'a1', 'a-stack', 'b2', 'a5', 'b5']);
});
