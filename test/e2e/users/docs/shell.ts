/** Commands of the documentation in a shell, as a person types them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { isRunning } from 'kind-test-harness';

export type Printed = { code: number | null; text: string };
export type Shell = {
  run: (command: string) => Promise<Printed>;
  /**
   * Resolves when it has printed something, with what ends it, which throws when it has ended by
   * itself until then.
   */
  begin: (command: string) => Promise<() => Promise<void>>;
};

const RUN_MS = 180_000;

/** `programs`: the words by which the shell starts each of them. */
export const createShell = ({
  cwd,
  env,
  programs,
}: {
  cwd: string;
  env: Readonly<Record<string, string>>;
  programs: Readonly<Record<string, readonly string[]>>;
}): Shell => {
  const head = Object.entries(programs)
    .map(([name, words]) => `${name}() { ${words.map(quoted).join(' ')} "$@"; }\n`)
    .join('');
  const started = (command: string) =>
    spawn('bash', ['-c', `${head}{ ${command}\n} 2>&1`], {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
      timeout: RUN_MS,
    });
  return {
    run: async (command) => {
      const child = started(command);
      let text = '';
      child.stdout.on('data', (chunk) => (text += String(chunk)));
      const [code] = await once(child, 'close');
      return { code: typeof code === 'number' ? code : null, text };
    },
    begin: async (command) => {
      const child = started(command);
      let text = '';
      child.stdout.on('data', (chunk) => (text += String(chunk)));
      const closed = once(child, 'close');
      await Promise.race([once(child.stdout, 'data'), closed]);
      return async () => {
        const { pid } = child;
        if (pid === undefined || !isRunning(child))
          throw new Error(`${command} has ended by itself: ${text}`);
        process.kill(-pid);
        await closed;
      };
    },
  };
};

const quoted = (word: string): string => `'${word}'`;
