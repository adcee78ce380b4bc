import { expect, it } from 'vitest';
import { bareHost } from './host.ts';

it.each([
  ['[::1]', '::1'],
  ['::1', '::1'],
  ['127.0.0.1', '127.0.0.1'],
  ['api.example', 'api.example'],
])('%s is %s', (host, bare) => {
  expect(bareHost(host)).toBe(bare);
});
