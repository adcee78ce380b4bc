import { createServer } from 'node:net';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { EXIT } from './command.ts';
import { commands } from './commands.ts';
import { runCli } from './testing.ts';

describe('a command line', () => {
  it.each([['foo'], ['foo', '--help'], ['help', 'foo'], ['foo', '-h', '-n', 'x']])(
    'is wrong with an unknown command: %j %j',
    async (...args) => {
      const { code, out, said } = await runCli(args);
      expect([code, out]).toEqual([EXIT.usage, '']);
      expect(said.join('\n')).toContain("sdewan: unknown command 'foo'");
    },
  );

  it.each([['unistall'], ['unistall', '--help'], ['help', 'unistall']])(
    'names the nearest commands for a misspelt one: %j %j',
    async (...args) => {
      const { code, out, said } = await runCli(args);
      expect([code, out]).toEqual([EXIT.usage, '']);
      expect(said).toEqual([
        expect.stringMatching(
          /^sdewan: unknown command 'unistall'; the nearest are uninstall, \w+, \w+\. Help: sdewan --help$/,
        ),
      ]);
    },
  );

  it('is wrong without a command, and gets the help', async () => {
    const { code, out, said } = await runCli([]);
    expect([code, out]).toEqual([EXIT.usage, '']);
    expect(said.join('\n')).toContain('Usage: sdewan');
  });

  it('names the program as people call it', async () => {
    const { code, out } = await runCli(['inject', '--help'], { name: 'kubectl sdewan' });
    expect(code).toBe(EXIT.done);
    expect(out).toContain('Usage: kubectl sdewan inject');
    expect(out).toContain('  kubectl sdewan inject -f cnf.yaml | kubectl apply -f -');
  });

  it.each(commands.map(({ name }) => name))('gets help with an example for %s', async (name) => {
    const { code, out, said } = await runCli([name, '--help']);
    expect([code, said]).toEqual([EXIT.done, []]);
    expect(out).toMatch(new RegExp(`Examples:\n {2}# .+\n {2}sdewan ${name}`));
    expect((await runCli(['help', name])).out).toBe(out);
  });

  it('is told its version', async () => {
    expect((await runCli(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe.each(['inject', 'uninject'])('what %s gets', (command) => {
  it.each(['', '\n', '---\n', '# nothing\n'])('has to be there: %j', async (text) => {
    const { code, out, said } = await runCli([command, '-f', '-'], { files: { '-': text } });
    expect([code, out, said]).toEqual([EXIT.usage, '', ['standard input: no documents']]);
  });
});

describe('a cluster', () => {
  let folder: string;
  const silent = createServer();
  const kubeconfig = async (server: string): Promise<string> => {
    const file = join(folder, 'config');
    const context = { cluster: 'c', user: 'u' };
    const text = {
      clusters: [{ name: 'c', cluster: { server } }],
      users: [{ name: 'u', user: { token: 'secret-token' } }],
      contexts: [{ name: 'edge', context }],
      'current-context': 'edge',
    };
    await writeFile(file, stringify(text));
    return file;
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sdewan-cli-'));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    silent.close();
    await rm(folder, { recursive: true });
  });

  it('is named with its context when it is not there', async () => {
    const file = await kubeconfig('https://127.0.0.1:1');
    const { code, out, said } = await runCli(['check', '--kubeconfig', file]);
    expect([code, out]).toEqual([EXIT.unknown, '']);
    expect(said[0]).toContain('https://127.0.0.1:1 (context edge) does not answer');
  });

  it('is given up after four seconds when it accepts and does not answer', async () => {
    const address = silent.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const file = await kubeconfig(`https://127.0.0.1:${port}`);
    const { code, said } = await runCli(['check', '--kubeconfig', file]);
    expect([code, said[0]]).toEqual([
      EXIT.unknown,
      expect.stringMatching(/does not answer: .*timeout: 4000ms/),
    ]);
  });

  it.each([
    [['--context', 'hub'], 'no context hub; there is: edge'],
    [
      ['--kubeconfig', '/nonexistent'],
      'no cluster: kubeconfig /nonexistent: there is no such file',
    ],
  ])('is told when it cannot be found: %j', async (args, words) => {
    const env = { KUBECONFIG: await kubeconfig('https://127.0.0.1:1') };
    const { code, said } = await runCli(['check', ...args], { env });
    expect([code, said]).toEqual([EXIT.unknown, [expect.stringContaining(words)]]);
  });
});
