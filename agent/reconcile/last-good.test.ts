import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '#shared/runtime/log.ts';
import { openLastGood } from './last-good.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'last-good-'));
  path = join(folder, 'last-good.json');
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = () => openLastGood(path, silentLogger);
const one = { spec: { src: 'lan' }, generation: 1, revision: 'r1' };

describe('the last good specs', () => {
  it('survive a restart, except those that were left out', async () => {
    const before = await open();
    await before.replace(
      new Map([
        ['a', one],
        ['b', one],
      ]),
    );
    await before.replace(new Map([['a', one]]));
    expect([...(await open()).current()]).toEqual([['a', one]]);
  });

  it('cost a change no more than a line', async () => {
    const store = await open();
    const many = new Map(Array.from({ length: 100 }, (_, at) => [`rule-${at}`, one]));
    await store.replace(many);
    const before = readFileSync(path, 'utf8');
    const next = new Map([...many, ['rule-7', { ...one, revision: 'r2' }]]);
    next.delete('rule-8');
    await store.replace(next);
    const after = readFileSync(path, 'utf8');
    expect(after.startsWith(before)).toBe(true);
    expect(after.length).toBeLessThan(before.length + 200);
    expect((await open()).current()).toEqual(next);
  });

  it.each([
    ['revision', { ...one, revision: 'r2' }],
    ['generation', { ...one, generation: 2 }],
  ])('are written when a %s differs', async (_what, next) => {
    const before = await open();
    await before.replace(new Map([['a', one]]));
    await before.replace(new Map([['a', next]]));
    expect((await open()).current().get('a')).toEqual(next);
  });

  it('are not written anew when nothing differs', async () => {
    const store = await open();
    await store.replace(new Map([['a', one]]));
    const { ino } = statSync(path);
    await store.replace(new Map([['a', { ...one }]]));
    expect(statSync(path).ino).toBe(ino);
  });

  it('start empty where there is no file, or one of another version', async () => {
    expect((await open()).current().size).toBe(0);
    writeFileSync(path, JSON.stringify({ version: 2, rules: { a: one } }));
    const store = await open();
    expect(store.current().size).toBe(0);
    await store.replace(new Map([['a', one]]));
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ version: 1, rules: { a: one } });
  });
});
