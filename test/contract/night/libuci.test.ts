/**
 * Our reading of UCI against libuci itself, as the crate libuci-sys bundles it. That libuci is
 * older than the place that a repeated option keeps, so options are compared without their order.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { caseCount, SEED } from '#shared/runtime/testing.ts';
import { parsePackage } from '#shared/uci/parse.ts';
import { nearlyUci } from '#shared/uci/testing.ts';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readUci } from '../../openwrt/checks/uci.ts';

const TEXTS = caseCount(200);
const CRATE = 'libuci-sys-1.0.5';
/** It prints types as they are, so that one of other characters cannot be read back. */
const OTHER_TYPE = /^config (?!\w+( '|$))/m;
const run = promisify(execFile);

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sdewan-libuci-'));
  await mkdir(join(folder, 'src'));
  await writeFile(join(folder, 'src/lib.rs'), '');
  await writeFile(
    join(folder, 'Cargo.toml'),
    '[package]\nname = "none"\nversion = "0.0.0"\n[dependencies]\nlibuci-sys = "=1.0.5"\n',
  );
  const home = join(folder, 'cargo');
  await run('cargo', ['fetch', '--quiet'], {
    cwd: folder,
    env: { ...process.env, CARGO_HOME: home },
  });
  const [registry = ''] = await readdir(join(home, 'registry/src'));
  const out = join(folder, 'out');
  for (const part of ['libubox', 'uci']) {
    const source = join(home, 'registry/src', registry, CRATE, part);
    const build = join(folder, part);
    const options = ['BUILD_LUA=OFF', 'BUILD_EXAMPLES=OFF', 'CMAKE_C_FLAGS=-w'];
    const places = [
      `CMAKE_INSTALL_PREFIX=${out}`,
      `CMAKE_PREFIX_PATH=${out}`,
      `ubox_include_dir=${out}/include`,
    ];
    await run('cmake', [
      '-S',
      source,
      '-B',
      build,
      ...[...options, ...places].map((each) => `-D${each}`),
    ]);
    await run('cmake', ['--build', build, '--target', 'install']);
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What `uci export` prints of each text; undefined where it refuses the text. */
const exported = async (texts: readonly string[]): Promise<readonly (string | undefined)[]> => {
  const config = join(folder, 'config');
  const read = join(folder, 'read');
  await mkdir(config);
  await mkdir(read);
  for (const [at, text] of texts.entries()) await writeFile(join(config, `t${at}`), text);
  // One shell starts uci for each, since Node takes longer to start a program than uci to run.
  const script = `cd config && for text in *; do ../out/bin/uci -q -c . export "$text" >"../read/$text" || rm "../read/$text"; done`;
  const shell = spawn('sh', ['-c', script], {
    cwd: folder,
    env: { ...process.env, LD_LIBRARY_PATH: join(folder, 'out/lib') },
    stdio: 'ignore',
  });
  const code = await new Promise((resolve, reject) => {
    shell.on('exit', resolve);
    shell.on('error', reject);
  });
  expect(code).toBe(0);
  return Promise.all(
    texts.map((_, at) => readFile(join(read, `t${at}`), 'utf8').catch(() => undefined)),
  );
};

const ours = (text: string) => {
  try {
    return parsePackage('some', text).sections.map(({ name, anonymous, type, options }) => ({
      name: anonymous ? undefined : name,
      type,
      options,
    }));
  } catch {
    return undefined;
  }
};

it(`reads or refuses ${TEXTS} texts as libuci does`, async () => {
  const texts = fc.sample(nearlyUci, { numRuns: TEXTS, seed: SEED });
  const theirs = await exported(texts);
  let compared = 0;
  for (const [at, text] of texts.entries()) {
    const theirText = theirs[at];
    const read = ours(text);
    expect({ text, isRead: read !== undefined }).toEqual({ text, isRead: theirText !== undefined });
    if (theirText === undefined || OTHER_TYPE.test(theirText)) continue;
    compared += 1;
    expect({ text, read }).toEqual({ text, read: readUci(theirText) });
  }
  expect(compared).toBeGreaterThan(TEXTS / 10);
});
