import { beforeEach, expect, it } from 'vitest';
import { KubeError } from '#shared/kube/errors.ts';
import { EXIT } from '../command.ts';
import { applyChange } from './apply-change.ts';

/** What the API server answers to each patch, by its status; none: it is taken. */
let answers: number[];
let patched: unknown[];
let said: string[];

beforeEach(() => {
  [answers, patched, said] = [[], [], []];
});

const run = () => {
  let looks = 0;
  const client = {
    patch: async (_resource: unknown, _key: unknown, { patch }: { patch: unknown }) => {
      patched.push(patch);
      const status = answers.shift();
      if (status !== undefined)
        throw new KubeError('patch', 'the server rejected it', { status, reason: '' });
      return {};
    },
  };
  const io = { out: (text: string) => said.push(text), say: (text: string) => said.push(text) };
  return applyChange(
    {
      client: client as never,
      namespace: 'edge',
      name: 'cnf-1',
      io,
      signal: new AbortController().signal,
    },
    async () => {
      looks += 1;
      return { patch: { type: 'merge', body: { looks } }, said: 'done' };
    },
  );
};

it.each([409, 422])('looks again when others have written meanwhile: %i', async (status) => {
  answers = [status, status];
  expect(await run()).toBe(EXIT.done);
  expect(patched).toEqual([1, 2, 3].map((looks) => ({ type: 'merge', body: { looks } })));
  expect(said).toEqual(['cnf-1: done\n']);
});

it('says why nothing has changed when the API server refuses it each time', async () => {
  answers = Array.from({ length: 9 }, () => 422);
  expect(await run()).toBe(EXIT.no);
  expect(patched).toHaveLength(5);
  expect(said).toEqual([expect.stringContaining('cnf-1: nothing has changed: ')]);
});

it('passes on any other error', async () => {
  answers = [403];
  await expect(run()).rejects.toThrow('the server rejected it');
});
