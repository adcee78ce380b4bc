/** What others see of a write that takes time. 1,024 ms for the 1 KiB or so of a package. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createManualClock, type ManualClock } from '../clock.ts';
import { UciStore } from './store.ts';
import { createUciWriter, type UciWriter } from './writer.ts';

const BY = { call: 'test' };
const LINE = (letter: string): string => `\tlist filler '${letter.repeat(500)}'\n`;
const TEXT = `config system 'a'\n${LINE('x')}${LINE('y')}\n`;

let folder: string;
let clock: ManualClock;
let store: UciStore;
let writer: UciWriter;
let written: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'uci-writer-'));
  writeFileSync(`${folder}/system`, TEXT);
  clock = createManualClock();
  written = [];
  store = new UciStore({
    configDirectory: folder,
    onWrite: ({ after }) => written.push(after ?? 'gone'),
  });
  writer = createUciWriter({ store, clock, msPerKilobyte: 1_024 });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const text = (): string => readFileSync(`${folder}/system`, 'utf8');
/** Stages one option, and begins to commit it. */
const committing = (option: string): Promise<void> => {
  const change = { command: 'set', section: 'a', option, value: 'yes' } as const;
  store.stage('system', `${folder}/staged-${option}`, [change]);
  return writer.commit('system', `${folder}/staged-${option}`, BY);
};
const pass = async (ms: number): Promise<void> => {
  await turn();
  clock.advance(ms);
  await turn();
};

test('a commit takes its time, and the file is the old one, whole, until it is the new one', async () => {
  const done = committing('first');
  await pass(900);
  expect(text()).toBe(TEXT);
  await pass(300);
  await done;
  expect(text()).toContain("option first 'yes'");
  expect(written).toEqual([text()]);
});

test('a commit that began before another one ended undoes it', async () => {
  const first = committing('first');
  await pass(500);
  const second = committing('second');
  await pass(600);
  await first;
  expect(text()).toContain('first');
  await pass(1_200);
  await second;
  expect(text()).toContain('second');
  expect(text()).not.toContain('first');
});

test('a commit that began after another one ended keeps it', async () => {
  const first = committing('first');
  await pass(1_200);
  await first;
  const second = committing('second');
  await pass(1_200);
  await second;
  expect(text()).toContain('first');
  expect(text()).toContain('second');
});

test('a write in place is seen empty, then half, then whole', async () => {
  const whole = `${TEXT}config system 'b'\n`;
  const edit = writer.overwrite('system', whole, BY);
  expect(text()).toBe('');
  await pass(600);
  expect(text()).toBe(whole.slice(0, whole.indexOf("\tlist filler 'y")));
  await pass(600);
  await edit;
  expect(text()).toBe(whole);
  expect(written).toEqual([whole]);
});

test('a commit that meets half a file keeps the half for good', async () => {
  const edit = writer.overwrite('system', `config system 'a'\n\nconfig system 'b'\n`, BY);
  await pass(20);
  const commit = committing('first');
  await pass(1_200);
  await Promise.all([edit, commit]);
  expect(text()).toContain('first');
  expect(text()).not.toContain("'b'");
});

test('an import makes an empty file first where there is none', async () => {
  const done = writer.import('new', TEXT, BY);
  expect(readFileSync(`${folder}/new`, 'utf8')).toBe('');
  await pass(1_200);
  await done;
  expect(readFileSync(`${folder}/new`, 'utf8')).toContain("list filler 'x");
});

test('without a time, all is done at once', () => {
  writer = createUciWriter({ store, clock, msPerKilobyte: 0 });
  void committing('first');
  expect(text()).toContain('first');
  void writer.overwrite('system', TEXT, BY);
  expect(text()).toBe(TEXT);
  expect(existsSync(`${folder}/new`)).toBe(false);
});
