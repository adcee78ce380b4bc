/**
 * Every block of commands in README.md and docs/ is run, on the running product, and its output is
 * what the page shows. `UPDATE=1` writes what was printed into the pages. What cannot run is in
 * EXCEPTIONS (chapters.ts).
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { connectCluster } from 'kind-test-harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../../../run/product-files.ts';
import { stepsIn, withOutput, type Block } from './blocks.ts';
import { CHAPTERS, type Chapter } from './chapters.ts';
import { followStep, type Outcome } from './follow.ts';
import { blocks, textOf } from './pages.ts';
import { createStage, type Stage } from './stage.ts';

const isUpdate = process.env['UPDATE'] === '1';

describe('the documentation, command by command', async () => {
  const cluster = await connectCluster();
  let stage: Stage;
  /** By page. */
  const updated = new Map<string, (string | undefined)[]>();

  beforeAll(async () => {
    stage = await createStage(cluster);
  });
  afterAll(async () => {
    await stage?.close();
    if (!isUpdate) return;
    for (const [page, outputs] of updated)
      writeFileSync(path.join(ROOT, page), withOutput(textOf(page), outputs));
  });

  const follow = async (
    { page, at, isShown, text }: Block,
    { namespace }: Chapter,
    words: Readonly<Record<string, string>>,
  ): Promise<Outcome[]> => {
    const said = (command: string): string =>
      Object.entries(words).reduce((line, [from, to]) => line.replaceAll(from, to), command);
    const outcomes: Outcome[] = [];
    const printed: string[] = [];
    for (const { command, shown } of stepsIn({ isShown, text })) {
      const step = { command: said(command), shown };
      const outcome = await followStep(stage, step, { output: isShown, namespace });
      outcomes.push(outcome);
      printed.push(`$ ${command}${outcome.printed}`);
    }
    if (!isShown || !isUpdate) return outcomes;
    const all = updated.get(page) ?? [];
    updated.set(page, all);
    all[at - 1] = printed.join('');
    return [];
  };

  it.each(
    CHAPTERS.map((chapter) => ({
      ...chapter,
      name: `${chapter.page} ${chapter.blocks.join(', ')}`,
    })),
  )('$name', async (chapter) => {
    await chapter.before?.(stage);
    const words = (await chapter.words?.(stage)) ?? {};
    const followAll = async (): Promise<void> => {
      for (const at of chapter.blocks) {
        const block = blocks.get(chapter.page)?.[at - 1];
        if (!block) throw new Error(`${chapter.page} has no block ${at}`);
        const outcomes = await follow(block, chapter, words);
        expect(outcomes.map(({ found }) => found)).toEqual(outcomes.map(({ wanted }) => wanted));
      }
    };
    try {
      await (chapter.around ? chapter.around(stage, followAll) : followAll());
    } finally {
      await chapter.after?.(stage);
    }
  });
});
