import { execFileSync } from 'node:child_process';
import { getEventListeners } from 'node:events';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { withOwnSignal } from './own-signal.ts';

it('aborts with the caller, for the same reason', async () => {
  const caller = new AbortController();
  const reason = new Error('gone');
  const seen = withOwnSignal(caller.signal, async ({ signal }) => {
    caller.abort(reason);
    return signal.reason;
  });
  expect(await seen).toBe(reason);
});

it('begins aborted where the caller is', async () => {
  const seen = withOwnSignal(AbortSignal.abort('before'), async ({ signal }) => signal.reason);
  expect(await seen).toBe('before');
});

it.each<[string, () => Promise<unknown>]>([
  ['ended', async () => 'done'],
  ['failed', () => Promise.reject(new Error('no'))],
])('leaves nothing on the caller once the work has %s', async (_what, work) => {
  const caller = new AbortController();
  await withOwnSignal(caller.signal, work).catch(() => undefined);
  expect(getEventListeners(caller.signal, 'abort')).toEqual([]);
});

it('ends what the work left under way', async () => {
  const { signal } = await withOwnSignal(undefined, async (own) => own);
  expect(signal.aborted).toBe(true);
});

// In a process of its own: counting objects walks the whole heap, and a test worker keeps what all
// its files have loaded (over a minute on busy cores).
it('keeps no signal in memory, whatever work leaves on it', () => {
  const module = pathToFileURL(path.join(import.meta.dirname, 'own-signal.ts')).href;
  const program = `
    import { queryObjects } from 'node:v8';
    import { withOwnSignal } from '${module}';
    const signals = () => queryObjects(AbortSignal, { format: 'count' });
    const caller = new AbortController();
    const before = signals();
    for (let call = 0; call < 200; call += 1)
      await withOwnSignal(caller.signal, async ({ signal }) => {
        signal.addEventListener('abort', () => caller.abort());
      });
    console.log(signals() - before);`;
  const kept = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  expect(Number(kept.trim() || Number.NaN)).toBeLessThan(20);
});
