import { expect, it } from 'vitest';
import { messageOf } from './errors.ts';
import { createLogger } from './log.ts';

it('lets no secret through, on three levels', () => {
  const lines: string[] = [];
  const log = createLogger({
    name: 't',
    level: 'info',
    destination: { write: (l) => void lines.push(l) },
  });
  log.info({ token: 'S3CRET', rule: 'r' }, 'one');
  log.info({ request: { headers: { authorization: 'S3CRET' } } }, 'two');
  log.info({ login: { password: 'S3CRET', user: 'u' } }, 'three');
  expect(lines.join('')).not.toContain('S3CRET');
  expect(lines).toHaveLength(3);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 'info',
    name: 't',
    rule: 'r',
    msg: 'one',
  });
});

it.each([
  ['the message', new Error('a'), 'a'],
  ['what caused it', new Error('a', { cause: new Error('b', { cause: 'c' }) }), 'a: b: c'],
  ['nothing twice', new Error('a: b', { cause: new Error('b') }), 'a: b'],
  ['the name of one without words', new TypeError(), 'TypeError'],
  ['anything that was thrown', 42, '42'],
])('says of an error %s', (_what, error, text) => {
  expect(messageOf(error)).toBe(text);
});
