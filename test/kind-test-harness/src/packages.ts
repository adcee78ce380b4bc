/** Debian packages that a machine lacks: named, and in CI as root installed. */
import { run } from './run.ts';

const TIMEOUT_MS = 600_000;

export type InstallDeps = {
  env: NodeJS.ProcessEnv;
  say: (line: string) => void;
  signal?: AbortSignal | undefined;
};

const install = (packages: readonly string[]): string[] => [
  'apt-get',
  'install',
  '-y',
  '--no-install-recommends',
  ...packages,
];

/** For people. */
export const installCommand = (packages: readonly string[]): string => install(packages).join(' ');

/** Only a machine of CI may be changed without asking. */
export const mayInstall = (env: NodeJS.ProcessEnv): boolean =>
  env['CI'] === 'true' && process.getuid?.() === 0;

/** @throws with the end of what apt-get said */
export const installPackages = async (
  packages: readonly string[],
  { env, say, signal }: InstallDeps,
): Promise<void> => {
  say(`installing ${packages.join(', ')}`);
  for (const command of [['apt-get', 'update'], install(packages)]) {
    const result = await run(command, {
      env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
      timeoutMs: TIMEOUT_MS,
      signal,
    });
    if (result.code !== 0) {
      throw new Error(`${command.join(' ')} failed:\n${result.stderr.slice(-2000)}`);
    }
  }
};
