import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { KeptConnections } from './kept-connections.ts';

const closed = async (socket: Socket): Promise<void> => {
  await new Promise((resolve) => socket.once('close', resolve).destroy());
};

it('keeps one connection of a pod, and another when that is closed', async () => {
  const kept = new KeptConnections({ most: 4 });
  const [one, other] = [new Socket(), new Socket()];
  expect(kept.keep('pod', one, false)).toBe(true);
  expect(kept.keep('pod', other, false)).toBe(false);
  expect(kept.keep('pod', one, false)).toBe(true);
  await closed(one);
  expect(kept.keep('pod', other, false)).toBe(true);
});

it('keeps so many in all, the second half of them for pods that report often', async () => {
  const kept = new KeptConnections({ most: 4 });
  const first = new Socket();
  const keeps = (isOften: boolean, count: number): boolean[] =>
    Array.from({ length: count }, (_, pod) =>
      kept.keep(`${isOften} ${pod}`, pod === 0 && !isOften ? first : new Socket(), isOften),
    );
  expect(keeps(false, 3)).toEqual([true, true, false]);
  expect(keeps(true, 3)).toEqual([true, true, false]);
  await closed(first);
  expect(kept.keep('another', new Socket(), true)).toBe(true);
});
