import { describe, expect, it } from 'vitest';
import { Script } from 'node:vm';
import { SCRIPT } from './live.ts';
import { COLOURS, STYLE } from './style.ts';

/** As WCAG 2 defines it. */
const luminance = (colour: string): number => {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.039_28 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const contrast = (one: string, other: string): number => {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
};

describe.each(Object.entries(COLOURS))(
  'in the %s scheme',
  (_, { ground, raised, soft: _soft, ...words }) => {
    it.each(Object.entries(words))('%s is read on both grounds', (name, colour) => {
      // Of lines around fields 3 are asked for.
      const least = name === 'line' ? 3 : 4.5;
      expect(contrast(colour, ground)).toBeGreaterThan(least);
      expect(contrast(colour, raised)).toBeGreaterThan(least);
    });
  },
);

it('the style has both schemes, and asks nobody for anything', () => {
  expect(STYLE).toContain('prefers-color-scheme: dark');
  expect(STYLE).not.toMatch(/url\(|@import/);
});

it('the script is one, and takes no text for markup', () => {
  expect(() => new Script(SCRIPT)).not.toThrow();
  expect(SCRIPT).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/);
});
