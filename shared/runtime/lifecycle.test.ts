import { expect, it, vi } from 'vitest';
import { EnvError } from './env.ts';
import { runProgram, type ProcessLike } from './lifecycle.ts';

const fakeProcess = () => {
  const listeners = new Map<string, () => void>();
  const codes: number[] = [];
  const said: string[] = [];
  const process: ProcessLike = {
    on: (event, listener) => listeners.set(event, listener),
    exit: (code) => void codes.push(code),
    stderr: { write: (text) => said.push(text) },
  };
  return { process, codes, said, send: (signal: string) => listeners.get(signal)?.() };
};

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });

it.each([
  ['ends 0 when main returns', async () => undefined, 0],
  ['ends 1 when main throws', async () => Promise.reject(new Error('broken')), 1],
  ['ends 2 when the environment is wrong', async () => Promise.reject(new EnvError(['X: bad'])), 2],
])('%s', async (_what, main, code) => {
  const host = fakeProcess();
  await runProgram({ name: 'p', main, process: host.process });
  expect(host.codes).toEqual([code]);
});

it('says what is wrong with the environment, without a stack', async () => {
  const host = fakeProcess();
  const main = async (): Promise<void> => Promise.reject(new EnvError(['X: bad', 'Y: worse']));
  await runProgram({ name: 'p', main, process: host.process });
  expect(host.said).toEqual(['p: the environment is invalid:\n  X: bad\n  Y: worse\n']);
});

it('ends 0 after SIGTERM when main lets the abort through', async () => {
  const host = fakeProcess();
  const done = runProgram({ name: 'p', main: untilAborted, process: host.process });
  host.send('SIGTERM');
  await done;
  expect(host.codes).toEqual([0]);
});

it('exits at once on the second signal, and by force after the grace period', async () => {
  vi.useFakeTimers();
  const host = fakeProcess();
  const stuck = new Promise<void>(() => undefined);
  void runProgram({ name: 'p', main: () => stuck, graceMs: 100, process: host.process });
  host.send('SIGTERM');
  host.send('SIGINT');
  expect(host.codes).toEqual([130]);
  await vi.advanceTimersByTimeAsync(100);
  expect(host.codes).toEqual([130, 1]);
  vi.useRealTimers();
});
