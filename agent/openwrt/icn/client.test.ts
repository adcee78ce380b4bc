import { expect, it } from 'vitest';
import { messageIn } from './client.ts';

it.each([
  ['JSON', (words: string) => `{"message":"${words}"}`],
  ['a page', (words: string) => `<html><body>${words}</body></html>`],
])('tells the beginning of a message of any length in %s', (_what, wrapped) => {
  expect(messageIn(wrapped(`no${' such thing'.repeat(1_000)}`))).toMatch(/^no such thing.{287}$/);
});
