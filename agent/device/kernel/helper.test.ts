/** What it finds on a device is tested by the conformance suite; here only that shells can parse it, and what the rights allow. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { KERNEL_HELPER_PATH } from '#shared/inject/own-login-files.ts';
import { KERNEL_RIGHTS } from './calls.ts';
import { HELPER_SCRIPT, KERNEL_FILE, POLICIES_LISTED, VERBS } from './helper.ts';

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

it('may be started with each verb and nothing else, and what it leaves be read', () => {
  const commands = Object.keys(KERNEL_RIGHTS.read?.file ?? {});
  expect(commands.filter((command) => command.startsWith('/usr/share'))).toEqual(
    VERBS.map((verb) => `${KERNEL_HELPER_PATH} ${verb}`),
  );
  expect(commands.filter((command) => !command.startsWith('/usr/share'))).toEqual(
    [KERNEL_FILE, POLICIES_LISTED].flatMap((file) =>
      ['/bin/dd', '/usr/bin/dd'].flatMap((dd) =>
        ['[0-9]', '[0-9][0-9]'].map((skip) => `${dd} if=${file} bs=131072 count=1 skip=${skip}`),
      ),
    ),
  );
});

describe('a look', () => {
  const CHAINS =
    'table inet fw4 {\n\tchain input {\n\t}\n}\ntable ip mangle {\n\tchain mwan3_hook {\n\t}\n}\n';
  const ROUTE = "config route 'sdewan_a'\n";
  const RULE = "config rule 'sdewan_b'\n";
  const OTHERS = "config interface 'lan'\nconfig route 'theirs'\nconfig rule6 'theirs'\n";

  /** What it prints and writes to its file, with stubs for nft and ip. */
  const look = (network: string, chains = CHAINS): { told: string; left: string | undefined } => {
    const folder = mkdtempSync(path.join(tmpdir(), 'sdewan-helper-'));
    const file = (name: string, text: string, mode = 0o644): string => {
      const at = path.join(folder, name);
      writeFileSync(at, text, { mode });
      return at;
    };
    file('nft', `#!/bin/sh\ncat ${file('chains', chains)}\n`, 0o755);
    file('ip', '#!/bin/sh\necho "ip $*"\n', 0o755);
    const found = path.join(folder, 'left/found');
    const input = HELPER_SCRIPT.replace('PATH=', `PATH=${folder}:`)
      .replaceAll(KERNEL_FILE, found)
      .replaceAll('/etc/config/network', file('network', network));
    const told = execFileSync('sh', ['-s', 'state'], { input, encoding: 'utf8' });
    return { told, left: existsSync(found) ? readFileSync(found, 'utf8') : undefined };
  };

  it.each<[string, string, string | undefined]>([
    ['nothing without routes and rules of ours', OTHERS, undefined],
    ['what a route needs', ROUTE, 'ip route show table all proto static\ninet\ninet6\n'],
    ['what a rule needs', RULE, 'inet\nip -4 rule\ninet6\n'],
    [
      'what those of others need, too, beside ours',
      ROUTE + OTHERS,
      'ip route show table all proto static\ninet\ninet6\nip -6 rule\n',
    ],
  ])('asks ip for %s', (_what, network, asked) => {
    const { told, left } = look(network);
    expect(left).toBe(asked);
    expect(/^[0-9a-f]{32} /m.test(told)).toBe(asked !== undefined);
  });

  it.each([
    ['few', CHAINS],
    ['many', CHAINS + '\tchain of_a_zone {\n\t}\n'.repeat(3_000)],
  ])('tells of the tables that are looked for, of %s chains, and not of too much', (_, chains) => {
    const { told } = look('', chains);
    expect(told).toContain('table inet fw4 ');
    expect(told).toContain('chain mwan3_hook ');
    expect(told.length).toBeLessThan(65_537);
  });
});
