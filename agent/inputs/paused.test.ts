import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { silentLogger } from '#shared/runtime/log.ts';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { followPaused } from './paused.ts';

it.each([
  ['true', true],
  ['yes\n', true],
  ['false', false],
  ['', false],
])('reads value %j as paused %j, also when it changes', async (text, expected) => {
  const folder = mkdtempSync(join(tmpdir(), 'paused-'));
  const file = join(folder, 'paused');
  const clock = createManualClock();
  const stopping = new AbortController();
  let changes = 0;
  const onChange = (): void => {
    changes += 1;
  };
  const { signal } = stopping;
  try {
    writeFileSync(file, text);
    const paused = await followPaused({ file, onChange, signal, clock, log: silentLogger });
    expect(paused()).toBe(expected);
    writeFileSync(file, expected ? '' : 'true');
    await clock.step();
    await clock.untilSleeping();
    expect([paused(), changes]).toEqual([!expected, 1]);
  } finally {
    stopping.abort();
    rmSync(folder, { recursive: true });
  }
});
