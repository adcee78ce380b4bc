/**
 * What it finds on a device is tested by the conformance suite; here only that shells can parse it,
 * and what the rights allow.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
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

describe('a look at mwan3', () => {
  const RULE = '-A mwan3_rules -p tcp -j mwan3_policy_a';
  const SAID = 'iptables-restore v1.8.9: too many ports specified\nError occurred at line: 3';

  /** `loaded`: what iptables has of the two rules that mwan3 tried to load; `isBusy`: at work. */
  const look = (loaded: readonly string[], isBusy = false): { told: string; left: string } => {
    const folder = mkdtempSync(path.join(tmpdir(), 'sdewan-helper-'));
    const at = (name: string): string => path.join(folder, name);
    const file = (name: string, text: string, mode = 0o644): void =>
      writeFileSync(at(name), text, { mode });
    const chains = ['-P INPUT ACCEPT', '-N mwan3_rules', ...loaded, '-A INPUT -j theirs'];
    file('chains', `${chains.join('\n')}\n`);
    file('iptables', `#!/bin/sh\ncat ${at('chains')}\n`, 0o755);
    file('said', `${SAID}\n`);
    file('iptables-restore', `#!/bin/sh\ncat >/dev/null; cat ${at('said')} >&2; exit 2\n`, 0o755);
    file('sleep', '#!/bin/sh\n', 0o755);
    file('flock', `#!/bin/sh\nexit ${isBusy ? 1 : 0}\n`, 0o755);
    for (const name of ['iface_state', 'iptables_log'])
      mkdirSync(at(`mwan3/${name}`), { recursive: true });
    file('mwan3/iface_state/net1', 'online\n');
    file('mwan3/iface_state/net2', 'offline\n');
    const tried = ['*mangle', '-F mwan3_rules', `${RULE}1`, `${RULE}2`, 'COMMIT', ''];
    file('mwan3/iptables_log/iptables-set_user_rules-ipv4.dump', tried.join('\n'));
    const input = HELPER_SCRIPT.replace('PATH=', `PATH=${folder}:`)
      .replace('chains_of_mwan3 ip6tables', 'chains_of_mwan3 no-ip6tables')
      .replaceAll(KERNEL_FILE, at('left/found'))
      .replaceAll('/var/lock/', `${folder}/`)
      .replaceAll('/var/run/mwan3', at('mwan3'));
    const told = execFileSync('sh', ['-s', 'mwan3'], { input, encoding: 'utf8' });
    const found = at('left/found');
    return { told, left: existsSync(found) ? readFileSync(found, 'utf8') : '' };
  };
  const HEAD = '== online net1\n== ipv4\n-N mwan3_rules\n';

  it('finds its chains, and which uplinks are online', () => {
    const { told, left } = look([`${RULE}1`, `${RULE}2`]);
    expect(left).toBe(`${HEAD}${RULE}1\n${RULE}2\n`);
    expect(told).toMatch(/^[0-9a-f]{32} /);
  });

  it('asks for the words of iptables-restore, and the line that they name, where its rules are not those that it has tried', () => {
    expect(look([]).left).toBe(`${HEAD}== refused ipv4\n${RULE}1\n${SAID}\n`);
  });

  it('says nothing while mwan3 is at work', () => {
    expect(look([], true)).toEqual({ told: '', left: '' });
  });
});

describe('the end of tunnels', () => {
  /** What swanctl was asked for, where it fails as often as told. */
  const asked = (lines: string, fails: string): string[] => {
    const folder = mkdtempSync(path.join(tmpdir(), 'sdewan-helper-'));
    const log = path.join(folder, 'log');
    const stub = `#!/bin/sh\necho "$*" >>${log}\ncase "$*" in ${fails}) exit 1 ;; esac\n`;
    writeFileSync(path.join(folder, 'swanctl'), stub, { mode: 0o755 });
    writeFileSync(path.join(folder, 'tunnels'), lines);
    const input = HELPER_SCRIPT.replace('PATH=', `PATH=${folder}:`).replaceAll(
      KERNEL_FILE,
      path.join(folder, 'found'),
    );
    execFileSync('sh', ['-s', 'end-tunnels'], { input });
    return existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n').sort() : [];
  };

  it('is asked for by number, for ten seconds, and then by force', () => {
    expect(asked('ike 3\nchild 12\n', '*ike-id*timeout*')).toEqual([
      '--terminate --child-id 12 --timeout 10',
      '--terminate --ike-id 3 --force',
      '--terminate --ike-id 3 --timeout 10',
    ]);
  });

  it('is before the start of what has only another name', () => {
    expect(asked('start hub new_1\n', 'none')).toEqual([
      '--initiate --ike hub --child new_1 --timeout 1',
    ]);
  });

  it.each(['ike *\n', 'ike\n', 'all 3\n', 'child 3;id\n', 'start hub a;b\n', 'start a b c\n', ''])(
    'is of nothing else: %j',
    (lines) => {
      expect(asked(lines, 'none')).toEqual([]);
    },
  );
});
