import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commands } from '../commands.ts';
import { programOf } from '../program.ts';
import { runCli } from '../testing.ts';
import { completionsOf } from './complete.ts';
import { scripts } from './scripts.ts';

const io = { env: {}, readText: async () => '', out: () => undefined, say: () => undefined };

describe('what can stand next', () => {
  const complete = async (...words: string[]): Promise<string[]> => {
    const { signal } = new AbortController();
    const program = programOf({ name: 'sdewan', commands, io, signal }, () => undefined);
    const asked: unknown[] = [];
    const text = await completionsOf(program, words, async (argument, options) => {
      asked.push([argument, options['namespace']]);
      return [`${argument}-1`, `${String(options['namespace'])}-2`];
    });
    return text.trimEnd().split('\n');
  };

  it('is every command, and help', async () => {
    const names = [...commands.map(({ name }) => name), 'help'].sort();
    expect(await complete('')).toEqual([...names, ':4']);
    expect(await complete('st')).toEqual(['status', ':4']);
    expect(await complete('help', 'ren')).toEqual(['render', ':4']);
  });

  it.each(commands.map(({ name }) => name))('is every option of %s', async (name) => {
    const file = commands.find((one) => one.name === name);
    const flags = (file?.options ?? []).flatMap(({ long }) => long ?? []);
    expect(await complete(name, '--')).toEqual([...flags, '--help'].sort().concat(':4'));
  });

  it.each([
    [
      ['status', '-o', ''],
      ['json', 'table', 'wide', 'yaml', ':4'],
    ],
    [
      ['status', '--output', 'j'],
      ['json', ':4'],
    ],
    [
      ['completion', ''],
      ['bash', 'fish', 'zsh', ':4'],
    ],
    [['render', '-f', ''], [':0']],
    [['status', '--kubeconfig', ''], [':0']],
    [['status', '-n', ''], [':4']],
    [['nothing', ''], [':4']],
    [['status', 'one', ''], [':4']],
    [['--v'], ['--version', ':4']],
  ])('includes, after %j, what the table says', async (words, expected) => {
    expect(await complete(...words)).toEqual(expected);
  });

  it('is a name from the cluster that the options say', async () => {
    expect(await complete('rules', '')).toEqual(['cnf-1', 'undefined-2', ':4']);
    expect(await complete('rules', '-n', 'edge', '')).toEqual(['cnf-1', 'edge-2', ':4']);
  });

  it('is nothing where there is no cluster, and no error', async () => {
    const { code, out, said } = await runCli(['__complete', 'rules', '--kubeconfig', '/none', '']);
    expect([code, out, said]).toEqual([0, ':4\n', []]);
  });
});

describe('in a shell', () => {
  const program = join(import.meta.dirname, '../sdewan.mjs');
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sdewan-bin-'));
    await symlink(program, join(folder, 'sdewan'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('bash asks the program', () => {
    const asking = (line: string) =>
      `COMP_WORDS=(sdewan ${line}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _sdewan; echo "\${COMPREPLY[@]}"`;
    const script = `${scripts.bash}${asking('st')}\n${asking("status -o ''")}`;
    const env = { PATH: `${folder}:${process.env['PATH'] ?? ''}` };
    const { stdout } = spawnSync('bash', ['-c', script], { encoding: 'utf8', env });
    expect(stdout).toBe('status\njson table wide yaml\n');
  });
});
