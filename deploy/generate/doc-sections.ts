/** What `sdewan docs` shows: the texts of its topics, from the pages. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TOPICS } from '../../coordinator/views/docs-topics.ts';

const DOCS = join(import.meta.dirname, '../../docs');

export const docSections = (): string => {
  const sections = TOPICS.map((topic) => {
    const [page, slug] = topic.split('#');
    return [topic, sectionOf(readFileSync(join(DOCS, `${page}.md`), 'utf8'), slug)];
  });
  return `${JSON.stringify(Object.fromEntries(sections), undefined, 2)}\n`;
};

const HEADING = /^(#+) (.*)$/;

/** From its heading to the next one that is not below it. @throws Error without such a heading */
export const sectionOf = (page: string, slug?: string): string => {
  if (slug === undefined) return page;
  const lines = page.split('\n');
  const levels = lines.map((line) => HEADING.exec(line)?.[1]?.length ?? Infinity);
  const first = lines.findIndex((line) => slugOf(HEADING.exec(line)?.[2]) === slug);
  const level = levels[first];
  if (level === undefined) throw new Error(`there is no heading for #${slug}`);
  const length = levels.slice(first + 1).findIndex((other) => other <= level) + 1;
  const last = length === 0 ? lines.length : first + length;
  return `${lines.slice(first, last).join('\n').trimEnd()}\n`;
};

/** As GitHub makes it. */
const slugOf = (heading = ''): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
