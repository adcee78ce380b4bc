import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLogger } from '#shared/runtime/log.ts';
import { openReported } from './reported.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sdewan-reported-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it('is remembered by the next agent of the pod', async () => {
  const open = () => openReported(join(folder, 'told.json'), silentLogger);
  const reported = await open();
  expect(reported.unreported(['firewall', 'mwan3'])).toEqual(['firewall', 'mwan3']);
  await reported.add(['firewall']);
  expect(reported.unreported(['firewall', 'mwan3'])).toEqual(['mwan3']);
  const next = await open();
  expect(next.unreported(['firewall', 'mwan3'])).toEqual(['mwan3']);
  await next.add(['mwan3']);
  expect((await open()).unreported(['firewall', 'mwan3'])).toEqual([]);
});
