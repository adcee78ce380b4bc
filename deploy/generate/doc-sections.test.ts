import { expect, it } from 'vitest';
import { sectionOf } from './doc-sections.ts';

const PAGE = "# A page\n\nText\n\n## ICN's words\n\nOne\n\n### Below\n\nTwo\n\n## Last\n\nThree\n";

it('is from its heading to the next one that is not below it', () => {
  expect(sectionOf(PAGE, 'icns-words')).toBe("## ICN's words\n\nOne\n\n### Below\n\nTwo\n");
  expect(sectionOf(PAGE, 'below')).toBe('### Below\n\nTwo\n');
  expect(sectionOf(PAGE, 'last')).toBe('## Last\n\nThree\n');
});

it('is the whole page without a heading', () => {
  expect(sectionOf(PAGE)).toBe(PAGE);
});

it('fails for a heading that is not there', () => {
  expect(() => sectionOf(PAGE, 'nowhere')).toThrow('#nowhere');
});
