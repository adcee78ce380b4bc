import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLogger } from '#shared/runtime/log.ts';
import { openTold } from './told.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sdewan-told-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it('is remembered by the next agent of the pod', async () => {
  const open = () => openTold(join(folder, 'told.json'), silentLogger);
  const told = await open();
  expect(told.untold(['firewall', 'mwan3'])).toEqual(['firewall', 'mwan3']);
  await told.add(['firewall']);
  expect(told.untold(['firewall', 'mwan3'])).toEqual(['mwan3']);
  const next = await open();
  expect(next.untold(['firewall', 'mwan3'])).toEqual(['mwan3']);
  await next.add(['mwan3']);
  expect((await open()).untold(['firewall', 'mwan3'])).toEqual([]);
});
