import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { silentLogger } from '#shared/runtime/log.ts';
import { StateFileError, openStateFile } from './state-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'state-file-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const schema = z.object({ version: z.literal(1), count: z.int() });
const open = () =>
  openStateFile({
    path: join(folder, 'x.json'),
    schema,
    initial: { version: 1, count: 0 },
    log: silentLogger,
  });

describe('a state file', () => {
  it('begins with the initial value, and holds the last one over a restart', async () => {
    const file = await open();
    expect(file.value()).toEqual({ version: 1, count: 0 });
    await file.write({ version: 1, count: 5 });
    expect(file.value().count).toBe(5);
    expect((await open()).value().count).toBe(5);
  });

  it('is for its owner only, and leaves nothing else in the folder', async () => {
    const file = await open();
    await file.write({ version: 1, count: 5 });
    expect(readdirSync(folder)).toEqual(['x.json']);
    expect(statSync(join(folder, 'x.json')).mode & 0o777).toBe(0o600);
  });

  it('is replaced whole, so that a crash while it is written leaves the old one', async () => {
    const file = await open();
    await file.write({ version: 1, count: 1 });
    const old = openSync(join(folder, 'x.json'), 'r');
    await file.write({ version: 1, count: 2 });
    expect(readFileSync(old, 'utf8')).toBe('{"version":1,"count":1}');
    closeSync(old);
    writeFileSync(join(folder, 'x.json.new'), '{"version":1,"cou');
    expect((await open()).value().count).toBe(2);
  });

  it('has the value only when it is on disk', async () => {
    const file = await open();
    await file.write({ version: 1, count: 1 });
    rmSync(folder, { recursive: true });
    await expect(file.write({ version: 1, count: 2 })).rejects.toThrow('ENOENT');
    expect(file.value().count).toBe(1);
  });

  it('names itself and the cause when the folder is full', async () => {
    const file = await open();
    symlinkSync('/dev/full', join(folder, 'x.json.new'));
    await expect(file.write({ version: 1, count: 1 })).rejects.toThrow(
      `the agent cannot write x.json in its state folder ${folder}: ENOSPC: no space left on device`,
    );
    await expect(file.write({ version: 1, count: 1 })).rejects.toThrow(StateFileError);
    expect(file.value().count).toBe(0);
  });

  it.each([
    ['cut in the middle', '{"version":1,"cou'],
    ['of a newer version', '{"version":2,"count":1}'],
    ['without a version', '{"count":1}'],
    ['not what its version says', '{"version":1}'],
    ['empty', ''],
  ])('begins anew when it is %s', async (_what, text) => {
    writeFileSync(join(folder, 'x.json'), text);
    const file = await open();
    expect(file.value().count).toBe(0);
    await file.write({ version: 1, count: 1 });
    expect(JSON.parse(readFileSync(join(folder, 'x.json'), 'utf8'))).toEqual({
      version: 1,
      count: 1,
    });
  });

  it('counts as unreadable, not as absent, when it cannot be read', async () => {
    rmSync(folder, { recursive: true });
    writeFileSync(folder, '');
    await expect(open()).rejects.toThrow('ENOTDIR');
  });
});

describe('a state file of many entries', () => {
  const path = () => join(folder, 'x.json');
  const entries = z.object({ version: z.literal(1), of: z.record(z.string(), z.int()) });
  const openMany = () =>
    openStateFile({
      path: path(),
      schema: entries,
      initial: { version: 1, of: {} },
      log: silentLogger,
      merge: ({ of }, change) => Object.assign(of, change.of),
    });
  type Many = Awaited<ReturnType<typeof openMany>>;
  const known: Record<string, number> = {};
  const set = (file: Many, name: string, to: number): Promise<void> => {
    known[name] = to;
    return file.amend({ version: 1, of: { [name]: to } }, () => ({ version: 1, of: { ...known } }));
  };
  const fill = async (file: Many): Promise<void> => {
    for (let at = 0; at < 50; at += 1) known[`entry-${at}`] = at;
    await file.write({ version: 1, of: { ...known } });
  };

  it('gets a line for a change, and is written whole when the lines are as long as that', async () => {
    const file = await openMany();
    await fill(file);
    const { size } = statSync(path());
    const text = readFileSync(path(), 'utf8');
    await set(file, 'entry-3', 1003);
    expect(readFileSync(path(), 'utf8')).toBe(`${text}\n{"version":1,"of":{"entry-3":1003}}`);
    expect((await openMany()).value().of).toEqual(known);
    for (let at = 0; at < 50; at += 1) {
      await set(file, 'entry-4', 1000 + at);
      expect(statSync(path()).size).toBeLessThan(2.1 * size);
    }
    expect((await openMany()).value().of).toEqual(known);
  });

  it('is as before a line that a crash has cut, and takes the next one whole', async () => {
    await fill(await openMany());
    const text = readFileSync(path(), 'utf8');
    const line = '\n{"version":1,"of":{"entry-3":2003}}';
    for (let length = 0; length < line.length; length += 1) {
      writeFileSync(path(), text + line.slice(0, length));
      const file = await openMany();
      known['entry-5'] = 5;
      expect(file.value().of).toEqual(known);
      await set(file, 'entry-5', length);
      expect((await openMany()).value().of).toEqual(known);
    }
    writeFileSync(path(), text + line);
    expect((await openMany()).value().of['entry-3']).toBe(2003);
  });

  it('is written whole after a line that could not be added', async () => {
    const file = await openMany();
    await fill(file);
    rmSync(path());
    await expect(set(file, 'entry-6', 1)).rejects.toThrow('ENOENT');
    await set(file, 'entry-7', 2);
    expect((await openMany()).value().of).toEqual(known);
  });
});
