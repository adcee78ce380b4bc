/** The browser of this machine. */
import { spawn } from 'node:child_process';

type Opener = readonly [program: string, ...args: readonly string[]];

/** Undefined: this machine has no screen, as far as anybody can tell. */
export const openerOf = (
  platform: NodeJS.Platform,
  env: Readonly<Record<string, string | undefined>>,
): Opener | undefined => {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['explorer.exe'];
  return (env['DISPLAY'] ?? env['WAYLAND_DISPLAY']) ? ['xdg-open'] : undefined;
};

/** Resolves when the program has begun, with whether it has; it outlives us. */
export const openIn = ([program, ...args]: Opener, url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
