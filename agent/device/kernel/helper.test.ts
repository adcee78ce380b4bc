/** What it finds on a device is the conformance suite's; here only that shells can read it, and what the rights say. */
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { KERNEL_HELPER_PATH } from '#shared/inject/own-login-files.ts';
import { KERNEL_RIGHTS } from './calls.ts';
import { HELPER_SCRIPT, KERNEL_FILE, VERBS } from './helper.ts';

const run = (...args: string[]): void => {
  execFileSync('sh', ['-s', ...args], {
    input: HELPER_SCRIPT,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
};

it('is a script that a plain shell can read', () => {
  expect(() => execFileSync('sh', ['-n'], { input: HELPER_SCRIPT })).not.toThrow();
});

it.each([[], [''], ['guard'], ['state; id']])(
  'refuses what is none of its verbs: %j',
  (...args) => {
    expect(() => run(...args)).toThrow('Command failed');
  },
);

it('may be started with each verb and nothing else, and its file be read', () => {
  const commands = Object.keys(KERNEL_RIGHTS.read?.file ?? {});
  expect(commands.filter((command) => command.startsWith('/usr/share'))).toEqual(
    VERBS.map((verb) => `${KERNEL_HELPER_PATH} ${verb}`),
  );
  expect(commands.filter((command) => !command.startsWith('/usr/share'))).toEqual(
    ['/bin/dd', '/usr/bin/dd'].flatMap((dd) =>
      ['[0-9]', '[0-9][0-9]'].map(
        (skip) => `${dd} if=${KERNEL_FILE} bs=131072 count=1 skip=${skip}`,
      ),
    ),
  );
});
