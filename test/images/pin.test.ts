import { expect, it } from 'vitest';
import { baseOf, pinned, publishedBaseOf } from './pin.ts';

const dockerfile = 'ARG BASE=docker.io/library/node:26-slim\nFROM ${BASE} AS bundle\n';
const digest = (digit: string): string => `sha256:${digit.repeat(64)}`;

it('a digest stands behind the tag, and is replaced by the next one', () => {
  expect(baseOf(dockerfile)).toEqual({ repository: 'library/node', tag: '26-slim' });
  const once = pinned(dockerfile, digest('a'));
  expect(once).toContain(`ARG BASE=docker.io/library/node:26-slim@${digest('a')}\n`);
  expect(publishedBaseOf(once)).toBe(`docker.io/library/node:26-slim@${digest('a')}`);
  expect(pinned(once, digest('b'))).toBe(once.replace(digest('a'), digest('b')));
});

it('what is no digest is not written', () => {
  expect(() => pinned(dockerfile, 'sha256:abc')).toThrow('is no digest');
  expect(() => pinned('FROM scratch\n', digest('a'))).toThrow('no line ARG BASE');
});
