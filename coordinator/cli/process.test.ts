/** The program as a process: without the network where it needs none, and its output cut short. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { stripVTControlCharacters } from 'node:util';
import { expect, it, vi } from 'vitest';
import * as z from 'zod';
import { EXIT } from './command.ts';

const PROGRAM = path.resolve(import.meta.dirname, 'main.ts');
const LAUNCHER = path.resolve(import.meta.dirname, 'sdewan.mjs');
const ROOT = path.resolve(import.meta.dirname, '../..');
const file = (name: string): string => path.join(ROOT, 'test/deploy/manifests', name);
const files = ['-f', file('seed-cnf.yaml'), '-f', file('seed-rules.yaml')];
const PATIENCE_MS = 300_000;

/** It may read files, and open no connection. */
const offline = (...args: readonly string[]) => offlineWith({}, ...args);

const offlineWith = async (env: Readonly<Record<string, string>>, ...args: readonly string[]) => {
  const child = spawn(process.execPath, ['--permission', '--allow-fs-read=*', PROGRAM, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, said] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, out, said };
};

const packet = ['--in', 'ovn-net1', '--src', '10.0.1.2', '--dst', '10.0.2.9', '--dport', '80'];
const trace = ['trace', ...files, ...packet, '--out', 'ovn-net2'];

it('render and trace -f need no network', { timeout: PATIENCE_MS }, async () => {
  const rendered = await offline('render', ...files);
  expect(rendered).toMatchObject({
    code: EXIT.done,
    out: expect.stringMatching(/^package firewall\n/),
  });
  const traced = await offline(...trace);
  expect(traced.out).toContain('the first packet of a connection');
  expect(traced.said).toBe('');
});

it('has colours where they are seen, and in no JSON', { timeout: PATIENCE_MS }, async () => {
  const asked = { FORCE_COLOR: '1' };
  const table = await offlineWith(asked, ...trace);
  expect(table.out).not.toBe(stripVTControlCharacters(table.out));
  const plain = [await offline(...trace), await offlineWith(asked, ...trace, '-o', 'json')];
  for (const { out } of plain) expect(out).toBe(stripVTControlCharacters(out));
});

it('ends in silence when who reads it has enough', { timeout: PATIENCE_MS }, async () => {
  const child = spawn(process.execPath, [PROGRAM, 'render', ...files], {
    env: {},
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  expect([await ended, await text(child.stderr)]).toEqual([EXIT.done, '']);
});

it('ends with its launcher, in the one word for that', { timeout: PATIENCE_MS }, async () => {
  const launcher = spawn(process.execPath, [LAUNCHER, 'render', '-f', '-'], {
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  // The program has its standard error, too, so that this comes when both have ended.
  const ended = new Promise<number | null>((resolve) => launcher.once('close', resolve));
  const children = `/proc/${launcher.pid}/task/${launcher.pid}/children`;
  await vi.waitUntil(() => readFileSync(children, 'utf8') !== '', { timeout: PATIENCE_MS });
  const said = text(launcher.stderr);
  launcher.kill('SIGTERM');
  const code = await ended;
  // Before it has come to its handlers the signal alone ends it.
  expect([
    [128 + constants.signals.SIGTERM, ''],
    [EXIT.no, 'sdewan: interrupted\n'],
  ]).toContainEqual([code, await said]);
});

/** Node prints at the end which files of its own it has loaded, and their bytes. */
const LOADED = `import { registerHooks } from 'node:module';
import { readFileSync } from 'node:fs';
const loaded = [];
registerHooks({
  load: (url, context, next) => {
    if (url.startsWith('file:')) loaded.push([url, readFileSync(new URL(url)).length]);
    return next(url, context);
  },
});
process.on('exit', () => process.stderr.write(JSON.stringify(loaded)));`;

// It has 150 ms. By what takes them, since times would tell of the machine.
it.each(['--version', '--help'])(
  '%s loads what all commands need, and nothing else',
  { timeout: PATIENCE_MS },
  async (option) => {
    const hooks = `data:text/javascript,${encodeURIComponent(LOADED)}`;
    const child = spawn(process.execPath, ['--import', hooks, PROGRAM, option], {
      env: {},
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const loaded = z
      .array(z.tuple([z.string(), z.number()]))
      .parse(JSON.parse(await text(child.stderr)));
    const bytes = loaded.reduce((sum, [, size]) => sum + size, 0);
    expect(loaded.length).toBeGreaterThan(20);
    expect(loaded.length).toBeLessThan(50);
    expect(bytes).toBeLessThan(200_000);
  },
);
