import { mkdtemp, readFile, rm, stat, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encrypt, verify } from 'unixcrypt';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parsePackage } from '#shared/uci/parse.ts';
import { ensureOwnLogin } from './own-login.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'own-login-'));
});
afterEach(() => rm(directory, { recursive: true }));

const packages = ['firewall', 'mwan3'];
const read = (file: string): Promise<string> => readFile(join(directory, file), 'utf8');
const modeOf = async (file: string): Promise<string> =>
  ((await stat(join(directory, file))).mode & 0o777).toString(8);

it('makes a login beside that of root, with a password that only the agent can read', async () => {
  expect(await ensureOwnLogin({ directory, packages })).toBe(true);
  const { sections } = parsePackage('rpcd', await read('rpcd'));
  const [, root, own] = sections.map(({ options }) => options);
  expect(root).toEqual({ username: 'root', password: '$p$root', read: ['*'], write: ['*'] });
  expect(own).toMatchObject({
    username: await read('username'),
    read: ['sdewan-agent'],
    write: ['sdewan-agent'],
  });
  const password = await read('password');
  expect(password).toHaveLength(43);
  expect(verify(password, String(own?.['password']))).toBe(true);
  expect(await read('rpcd')).not.toContain(password);
  expect([await modeOf('password'), await modeOf('rpcd'), await modeOf('acl.json')]).toEqual([
    '600',
    '644',
    '644',
  ]);
});

it('hashes as crypt(3) does', () => {
  // openssl passwd -5 -salt 'rounds=1000$abcdefgh' hello
  expect(encrypt('hello', '$5$rounds=1000$abcdefgh')).toBe(
    '$5$rounds=1000$abcdefgh$okyjw/83AAX.UipXCtjVrkKTDWdqFQkp6Bg/O6/KuPB',
  );
});

it('keeps a login that is there: its files are mounted, and cannot be replaced', async () => {
  await ensureOwnLogin({ directory, packages });
  const before = [await read('rpcd'), await read('password')];
  expect(await ensureOwnLogin({ directory, packages })).toBe(false);
  expect([await read('rpcd'), await read('password')]).toEqual(before);
});

it('starts over when it was killed before the last file was written', async () => {
  await ensureOwnLogin({ directory, packages });
  const before = await read('password');
  await unlink(join(directory, 'rpcd'));
  expect(await ensureOwnLogin({ directory, packages })).toBe(true);
  expect(await read('password')).not.toBe(before);
});

it('gives rights to the packages of the agent only, and none that end in a bare wildcard', async () => {
  await ensureOwnLogin({ directory, packages });
  const acl = await read('acl.json');
  expect(acl).not.toMatch(/skip=\*|"\*"/);
  expect(acl).not.toMatch(/rpcd"|shadow|dropbear|network(?!\.interface")/);
});
