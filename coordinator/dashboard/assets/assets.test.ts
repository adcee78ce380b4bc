import { expect, it } from 'vitest';
import { Script } from 'node:vm';
import { SCRIPT } from './live.ts';
import { STYLE } from './style.ts';

it('the style has both schemes, and asks nobody for anything', () => {
  expect(STYLE).toContain('prefers-color-scheme: dark');
  expect(STYLE).not.toMatch(/url\(|@import/);
});

it('the script is one, and takes no text for markup', () => {
  expect(() => new Script(SCRIPT)).not.toThrow();
  expect(SCRIPT).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/);
});
