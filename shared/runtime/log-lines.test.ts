import { pino } from 'pino';
import { expect, it } from 'vitest';
import { boundedLines } from './log-lines.ts';

const setUp = () => {
  const lines: string[] = [];
  let closeWindow = (): void => undefined;
  const destination = { write: (line: string) => void lines.push(line) };
  const bounded = boundedLines(destination, {
    after: (_ms, callback) => {
      closeWindow = callback;
      return () => undefined;
    },
  });
  return {
    lines,
    parsed: (): Record<string, unknown>[] => lines.map((line) => JSON.parse(line)),
    log: pino({ base: { name: 't' }, formatters: { level: (level) => ({ level }) } }, bounded),
    endWindow: () => closeWindow(),
  };
};

const long = 'x'.repeat(3_000_000);
it.each([
  ['a value', { namespace: long }],
  ['a key', { [long]: 1 }],
  ['an error', { err: new Error(long, { cause: new Error(long) }) }],
  ['a list', { names: Array.from({ length: 100_000 }, String) }],
  ['many keys', Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`k${n}`, n]))],
  ['what is nested', { a: { b: { c: { d: { e: long }, f: [[[[long]]]] } } } }],
])('writes no long line, whatever is logged: %s', (_, fields) => {
  const { lines, log, parsed } = setUp();
  log.warn(fields, 'refused');
  expect(lines.map(({ length }) => length < 10_000)).toEqual([true]);
  expect(parsed()).toMatchObject([{ level: 'warn', name: 't', msg: 'refused' }]);
});

it('keeps the fields of a long line, each shortened', () => {
  const { log, parsed } = setUp();
  log.warn({ namespace: long, code: 'bad' }, 'refused');
  expect(parsed()).toMatchObject([{ code: 'bad', namespace: expect.stringMatching(/^x{512}…$/) }]);
});

it('keeps sixteen items of a list in a long line, and what is four levels deep', () => {
  const { log, parsed } = setUp();
  const names = Array.from({ length: 20 }, (_, n) => n);
  log.warn({ namespace: long, names, a: { b: { c: { d: { e: 1 } } } } }, 'refused');
  expect(parsed()).toMatchObject([{ names: names.slice(0, 16), a: { b: { c: { d: '…' } } } }]);
});

it('two thousand different lines are remembered, and what comes beside them is not counted', () => {
  const { lines, log } = setUp();
  for (let n = 0; n < 2_000; n += 1) log.warn(`refused ${n}`);
  for (let n = 0; n < 10; n += 1) log.warn('something else');
  expect(lines).toHaveLength(2_010);
});

it('counts a line that is repeated', () => {
  const { log, parsed, endWindow } = setUp();
  for (let n = 0; n < 100; n += 1) log.warn({ code: 'bad-token' }, 'refused');
  log.warn({ code: 'no-token' }, 'refused');
  expect(parsed()).toHaveLength(6);
  endWindow();
  expect(parsed().slice(6)).toMatchObject([{ code: 'bad-token', msg: 'refused', repeated: 95 }]);
  log.warn({ code: 'bad-token' }, 'refused');
  expect(parsed()).toHaveLength(8);
});

it('counts a message that is repeated with different fields, and still logs others', () => {
  const { lines, log, parsed, endWindow } = setUp();
  for (let n = 0; n < 5_000; n += 1) log.warn({ n }, 'refused');
  log.info('something else');
  expect(lines).toHaveLength(1_001);
  endWindow();
  expect(parsed().at(-1)).toMatchObject({ msg: 'refused', n: 4_999, repeated: 4_000 });
});

it('writes the end of a webhook’s path into no line, not even in an error of the API server', () => {
  const { lines, log } = setUp();
  const token = '0123456789abcdef'.repeat(2);
  const path = `/admission/workload-labels/${token}?timeout=2s`;
  log.warn({ err: new Error(`Post "https://c.svc:8443${path}": no route`), path }, 'failed');
  expect(lines.join('')).not.toContain(token);
  expect(lines.join('')).toContain('/admission/workload-labels/…?timeout=2s');
});
