/**
 * The agent's helper with a real nft, in a network namespace of its own: what it loads is listed as
 * the agent reads it back. The device that the helper runs on has BusyBox' shell, and this machine
 * another one; test/contract has the rest.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  membersFile,
  policyTable,
  removalFile,
  trialFile,
  wholeFile,
  type PolicyTable,
} from '#shared/policy/nft-table.ts';
import { HELPER_SCRIPT, POLICIES_FILE } from '../../../../agent/openwrt/kernel/helper.ts';
import { tracedBy } from '../../../../agent/network-policy/blame.ts';
import {
  differingSet,
  markerIn,
  setsIn,
} from '../../../../agent/openwrt/network-policy/listing.ts';

const NAMESPACE = `sdewan-${process.pid}-helper`;
const DEVICE_FOLDER = dirname(POLICIES_FILE);

let folder = '';
let script = '';
beforeAll(() => {
  const parent = mkdtempSync(join(tmpdir(), 'sdewan-helper-'));
  folder = join(parent, 'helper');
  script = HELPER_SCRIPT.replaceAll(DEVICE_FOLDER, folder);
  mkdirSync(folder, { mode: 0o700 });
  execFileSync('ip', ['netns', 'add', NAMESPACE]);
});
afterAll(() => {
  execFileSync('ip', ['netns', 'delete', NAMESPACE]);
  rmSync(dirname(folder), { recursive: true });
});

const run = (verb: string): string =>
  execFileSync('ip', ['netns', 'exec', NAMESPACE, 'sh', '-s', verb], {
    input: script,
    encoding: 'utf8',
  });
const load = (file: string): string => {
  writeFileSync(join(folder, 'policies'), file);
  return run('load-policies');
};

const tableWith = (clients: readonly string[]): PolicyTable =>
  policyTable(
    [
      {
        id: 'web',
        title: 'ns/web',
        enforcement: {
          pods: 'pods',
          ingress: [
            { peers: [{ group: 'clients' }], ports: [{ protocol: 'TCP', port: 80, endPort: 90 }] },
            { ports: [{ protocol: 'UDP', group: 'dns' }] },
            { peers: [{ cidr: '0.0.0.0/0', except: ['10.0.0.0/8', '192.168.0.0/16'] }] },
          ],
          egress: [{ peers: [{ cidr: 'fd00::/8', except: [] }] }],
        },
      },
    ],
    (group) =>
      ({
        pods: ['10.0.0.1', 'fd00::1', '::ffff:a00:1'],
        dns: ['10.0.0.1 . 53', 'fd00::1 . 5353'],
        clients,
      })[group] ?? [],
  );
const many = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => [
    `10.1.${at >> 8}.${at & 255}`,
    `fd00::2:${at.toString(16)}`,
  ]).flat();

describe('the helper', () => {
  const before = tableWith(['10.0.0.9']);

  it('says that nothing is there', () => {
    expect(run('policies')).toBe('');
    expect(run('denied')).toBe('');
  });

  it('loads a table, and lists each set as it was written', () => {
    const listed = load(wholeFile(before));
    expect(markerIn(listed)).toBe(before.hash);
    expect(differingSet(listed, before, [...before.sets.keys()])).toBeUndefined();
    expect([...setsIn(listed).keys()].sort()).toEqual([...before.sets.keys()].sort());
    expect(markerIn(run('policies'))).toBe(before.hash);
    expect(run('policies')).toContain('\tset isolated_in_4 {');
  });

  it('changes members, and lists the sets that it has written alone', () => {
    const after = tableWith(['10.0.0.10', 'fd00::10']);
    const listed = load(membersFile(after, before) ?? '');
    expect(markerIn(listed)).toBe(after.hash);
    expect([...setsIn(listed).keys()].sort()).toEqual(['g_clients_4', 'g_clients_6']);
    expect(differingSet(listed, after, ['g_clients_4', 'g_clients_6'])).toBeUndefined();
    expect(differingSet(listed, before, ['g_clients_4'])).toBe('g_clients_4');
  });

  it('leaves what is long in a file, and says its hash', () => {
    const large = tableWith(many(2_000));
    const said = load(wholeFile(large));
    const path = join(folder, 'policies-listed');
    const md5 = execFileSync('md5sum', [path], { encoding: 'utf8' }).split(' ')[0];
    expect(said).toBe(`== left ${md5}\n`);
    const listed = execFileSync('cat', [path], { encoding: 'utf8' });
    expect(differingSet(listed, large, [...large.sets.keys()])).toBeUndefined();
  });

  it("passes nft's words on, and nothing has changed", () => {
    const marker = run('policies');
    expect(load(wholeFile(before).replace('counter drop', 'counter drip'))).toMatch(
      /^== refused\n[^]*drip/,
    );
    expect(load('flush set inet sdewan_policy no_such_set\n')).toMatch(/^== refused\n/);
    expect(run('policies')).toBe(marker);
  });

  it('tries a table out: nothing is left of it', () => {
    const whole = execFileSync('ip', ['netns', 'exec', NAMESPACE, 'nft', 'list', 'ruleset']);
    expect(load(trialFile(tableWith(many(100))))).not.toMatch(/^== refused/);
    expect(load(trialFile(before).replace('counter drop', 'counter drip'))).toMatch(/^== refused/);
    // The kernel itself refuses this one.
    const absent = trialFile(before).replace('jump in_web', 'jump in_nobody');
    expect(load(absent)).toMatch(/^== refused\n[^]*policies:\d+:\d+-\d+: Error/);
    const after = execFileSync('ip', ['netns', 'exec', NAMESPACE, 'nft', 'list', 'ruleset']);
    expect(after.equals(whole)).toBe(true);
  });

  it("traces nft's words to the policy by the line of its chain", () => {
    const entries = ['one', 'two'].map((id) => ({
      id,
      title: `ns/${id}`,
      enforcement: { pods: 'pods', ingress: [{ peers: [{ group: 'clients' }] }] },
    }));
    const table = policyTable(entries, () => ['10.0.0.1']);
    const at = table.chains.indexOf('accept', table.chains.indexOf('chain in_two'));
    const wrong = {
      ...table,
      chains: `${table.chains.slice(0, at)}acept${table.chains.slice(at + 6)}`,
    };
    const said = load(wholeFile(wrong));
    expect(tracedBy(said, wrong, entries).map(({ id }) => id)).toEqual(['two']);
  });

  it('removes all of it', () => {
    expect(load(removalFile())).toBe('');
    expect(run('policies')).toBe('');
  });
});
