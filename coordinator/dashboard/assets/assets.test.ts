import { expect, it } from 'vitest';
import { Script } from 'node:vm';
import { SCRIPT } from './live.ts';
import { STYLE } from './style.ts';

it('have both schemes in the style, which loads nothing', () => {
  expect(STYLE).toContain('prefers-color-scheme: dark');
  expect(STYLE).not.toMatch(/url\(|@import/);
});

it('have one script, which takes no text for markup', () => {
  expect(() => new Script(SCRIPT)).not.toThrow();
  expect(SCRIPT).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/);
});
