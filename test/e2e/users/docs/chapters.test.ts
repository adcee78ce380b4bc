/**
 * Who adds a block of commands to a page says here what has to be there before it, or why it cannot
 * run.
 */
import path from 'node:path';
import { expect, it } from 'vitest';
import { stepsIn } from './blocks.ts';
import { BY_CI, CHAPTERS, ELSEWHERE, EXCEPTIONS } from './chapters.ts';
import { missingIn } from './follow.ts';
import { blocks, textOf } from './pages.ts';

const nameOf = ({ page, at }: { page: string; at: number }): string => `${page} ${at}`;
const exceptions = EXCEPTIONS.flatMap((one) => one.blocks);
const commandsOf = (one: { page: string; blocks: readonly number[] }): string[] =>
  one.blocks.flatMap((at) => {
    const block = blocks.get(one.page)?.[at - 1];
    return block ? stepsIn(block).map(({ command }) => command) : [];
  });

it('follows each block once, by one test, or lists it among those that cannot be, which is short', () => {
  const all = [...blocks.values()].flat().map(nameOf);
  const followed = [...CHAPTERS, ...ELSEWHERE, ...BY_CI, ...exceptions].flatMap((one) =>
    one.blocks.map((at) => nameOf({ page: one.page, at })),
  );
  expect(followed.toSorted()).toEqual(all.toSorted());
  // Each that goes lowers it.
  expect(exceptions.flatMap((one) => one.blocks).length).toBeLessThan(10);
  for (const { page, test } of ELSEWHERE) expect(textOf(test)).toContain(path.basename(page));
});

it.each(exceptions)('$page: scripts and files of blocks $blocks are there', (one) => {
  const commands = commandsOf(one);
  expect(commands.length).toBeGreaterThan(0);
  expect(commands.flatMap(missingIn)).toEqual([]);
});

it.each(BY_CI)('$page: blocks $blocks are what CI runs', (one) => {
  const commands = commandsOf(one).map((command) => command.replace(/ *#.*/, ''));
  expect(commands.length).toBeGreaterThan(0);
  for (const command of commands) expect(textOf('.ci/run')).toContain(`prove ${command}`);
});
