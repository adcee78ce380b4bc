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
  'token',
  'password',
  'secret',
  'authorization',
  'Authorization',
  'cookie',
  'sessionId',
  'ubus_rpc_session',
  'private_key',
  'privateKey',
  'pre_shared_key',
])('lets no %s through, wherever it stands', (key) => {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ name: 't', level: 'info', destination });
  const held = { [key]: 'S3CRET' };
  log.info({ ...held, options: held, section: { options: held } }, 'a section');
  log.child({ options: held }).warn(held, 'another');
  expect(lines.join('')).not.toContain('S3CRET');
  expect(lines.join('').split('[redacted]')).toHaveLength(6);
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
