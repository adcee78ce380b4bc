/**
 * Changes that come into force without a reload, on a real fw4 and nft: after each, the table is
 * that of `fw4 print` loaded in a network namespace of its own, compared as `nft -j -s` without
 * handles. Needs a device with `unshare` that can be looked into. Its procd forgets the firewall
 * meanwhile: a second after each `uci apply` it would reload it as well, and what is amended then
 * is another table.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { namedSection } from '#shared/compile/testing.ts';
import { KERNEL_HELPER_PATH } from '#shared/inject/own-login-files.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { caseCount, SEED } from '#shared/runtime/testing.ts';
import { deltaOf } from '#shared/uci/delta.ts';
import type { UciSection } from '#shared/uci/model.ts';
import type { Driver } from '../../../agent/openwrt/driver.ts';
import { EXCERPT_FILES, STEPS_FILE } from '../../../agent/openwrt/kernel/helper.ts';
import { NEVER } from './bench.ts';
import { namedDevice } from './named-device.ts';
import { PUT_HELPER, REMOVE_HELPER } from './own-helper.ts';
import { ubusDriver } from './simulated.ts';
import { recordedPath } from './stage.ts';

const given = namedDevice();
const devices = given?.inside && recordedPath(given) === 'ubus-fast' ? [given] : [];

const LIST = 'nft -j -s -t list table inet fw4';
const WITHOUT_PROCD = `ubus call service delete '{"name":"firewall"}'\n`;
/** `restart` of the script is fw4's own, and tells procd nothing. */
const WITH_PROCD = '/etc/init.d/firewall start >/dev/null 2>&1\n';
const LOADED_ANEW = `unshare -n sh -c 'fw4 -q print | nft -f - && ${LIST}'\n`;

const ruleSchema = z.object({
  nftables: z.array(z.looseObject({ rule: z.looseObject({ chain: z.string() }).optional() })),
});
/** By chain; a reload leaves chains that nothing asks for any more. */
const rulesIn = (json: string): Record<string, string[]> => {
  const { nftables } = ruleSchema.parse(JSON.parse(json));
  const rules: Record<string, string[]> = {};
  for (const { rule } of nftables) {
    if (rule === undefined) continue;
    (rules[rule.chain] ??= []).push(JSON.stringify({ ...rule, handle: undefined }));
  }
  return rules;
};

const PREFIX = 'sdewan_amendment_';
const isOurs = ({ name }: { name: string }): boolean => name.startsWith(PREFIX);
const rule = (name: string, options: UciSection['options'] = {}): UciSection =>
  namedSection('rule', PREFIX + name, {
    name,
    src: 'lan',
    proto: 'tcp',
    dest_port: '80',
    target: 'ACCEPT',
    ...options,
  });
const dnat = (name: string, options: UciSection['options'] = {}): UciSection =>
  namedSection('redirect', PREFIX + name, {
    name,
    src: 'wan',
    dest: 'lan',
    proto: 'tcp',
    src_dport: '8080',
    dest_ip: '192.168.1.9',
    target: 'DNAT',
    ...options,
  });

describe.each(devices)('on the firewall of $url', ({ url, user, passwordFile, inside }) => {
  const run = inside ?? (() => '');
  const folder = mkdtempSync(join(tmpdir(), 'sdewan-amendments-'));
  const usernameFile = join(folder, 'username');
  let driver: Driver;

  const bring = async (...desired: UciSection[]): Promise<void> => {
    const observed = (await driver.read(NEVER)).packages.get('firewall');
    if (observed === undefined) throw new Error('OpenWRT has no package firewall');
    const result = await driver.apply([deltaOf({ observed, desired, isOurs })], NEVER);
    expect(result.outcome).toBe('done');
    expect(rulesIn(run(`${LIST}\n`))).toEqual(rulesIn(run(LOADED_ANEW)));
  };
  const amended = (): number => driver.firewallWays?.()?.amended ?? 0;

  beforeAll(() => {
    run(PUT_HELPER);
    run(WITHOUT_PROCD);
    writeFileSync(usernameFile, user);
    driver = ubusDriver({ url, usernameFile, passwordFile }, systemClock);
  });
  afterAll(async () => {
    await bring();
    await driver.close();
    run(REMOVE_HELPER);
    run(WITH_PROCD);
    rmSync(folder, { recursive: true });
  });

  const base = [
    rule('a'),
    rule('b', { dest: 'wan', target: 'REJECT' }),
    rule('c'),
    rule('d', { dest: 'wan', target: 'REJECT' }),
    rule('e', { proto: 'icmp', dest_port: [], icmp_type: ['echo-request'] }),
    dnat('x'),
    dnat('y'),
  ];
  const withChanged = (changed: UciSection): UciSection[] =>
    base.map((one) => (one.name === changed.name ? changed : one));
  const without = (name: string): UciSection[] => base.filter((one) => one.name !== PREFIX + name);

  it.each<[string, UciSection[]]>([
    ['a port', withChanged(rule('a', { dest_port: '81' }))],
    ['a rule for two protocols', withChanged(rule('a', { proto: ['tcp', 'udp'] }))],
    ['addresses', withChanged(rule('c', { src_ip: ['10.0.0.0/8', '2001:db8::/32'] }))],
    ['a family', withChanged(rule('c', { family: 'ipv6' }))],
    ['a MAC address', withChanged(rule('c', { src_mac: '00:11:22:33:44:55' }))],
    ['a mark to match', withChanged(rule('c', { mark: '0x10/0xff' }))],
    ['a limit', withChanged(rule('c', { limit: '10/minute' }))],
    [
      'a type of ICMP',
      withChanged(rule('e', { proto: 'icmp', dest_port: [], icmp_type: ['8/0'] })),
    ],
    ['what is done', withChanged(rule('c', { target: 'DROP' }))],
    ['the zone', withChanged(rule('c', { dest: 'wan', target: 'REJECT' }))],
    ['the address of a DNAT', withChanged(dnat('y', { dest_ip: '192.168.1.10' }))],
    ['the port of a DNAT', withChanged(dnat('x', { dest_port: '8081' }))],
    ['a rule less', without('c')],
    ['the first rule less', without('a')],
    ['a DNAT less', without('x')],
    ['a rule more', [...base, rule('f')]],
    ['a rule more, in between', [...base.slice(0, 2), rule('f'), ...base.slice(2)]],
    ['a rule more, before all others', [rule('f'), ...base]],
    ['a DNAT more', [...base, dnat('z')]],
    [
      'several at once',
      [rule('b', { dest: 'wan', target: 'REJECT', dest_port: '1' }), ...base.slice(2), rule('f')],
    ],
  ])('%s', async (_what, desired) => {
    await bring(...base);
    const before = amended();
    await bring(...desired);
    expect(amended() - before).toBe(1);
  });

  it.each<[string, UciSection[]]>([
    ['another order', base.toReversed()],
    ['the last DNAT less', without('x').slice(0, -1)],
    ['a mark to set, the first one', [...base, rule('m', { target: 'MARK', set_mark: '0x1' })]],
    ['a rule without tracking, the first one', [...base, rule('n', { target: 'NOTRACK' })]],
    ['a name that another section has', [...base, rule('w', { name: 'y' })]],
  ])('needs a reload: %s', async (_what, desired) => {
    await bring(...base);
    const before = amended();
    await bring(...desired);
    expect(amended()).toBe(before);
  });

  it('needs a reload for a change beside text in /etc/nftables.d', async () => {
    await bring(...base);
    const before = amended();
    run("echo 'chain sdewan_test { counter; }' >/etc/nftables.d/sdewan-test.nft\n");
    await bring(...withChanged(rule('a', { dest_port: '81' })));
    run('rm /etc/nftables.d/sdewan-test.nft; fw4 -q reload\n');
    expect(amended()).toBe(before);
  });

  it('needs a reload for a change of a table that was made anew', async () => {
    await bring(...base);
    const before = amended();
    run('nft delete table inet fw4; fw4 -q reload; fw4 -q reload\n');
    await bring(...withChanged(rule('a', { dest_port: '81' })));
    expect(amended()).toBe(before);
  });

  it('needs a reload for a change of a table to which a rule was just added', async () => {
    await bring(...base);
    const before = amended();
    run('nft insert rule inet fw4 input_lan tcp dport 9 drop\n');
    await bring(...withChanged(rule('a', { dest_port: '81' })));
    expect(amended()).toBe(before);
  });

  it('has a helper that finds a table that is not as a reload makes it', async () => {
    const compare = (): string => run(`${KERNEL_HELPER_PATH} compare\n`);
    await bring(...base);
    await bring(...without('c'));
    expect(compare()).toBe('');
    run('nft insert rule inet fw4 input_lan tcp dport 9 drop\n');
    expect(compare()).toContain('tcp dport 9 drop');
    run('fw4 -q reload\n');
    expect(compare()).toBe('');
  });

  it.each([
    ['amends the table that it has named, and nft refuses a handle that is none', 'true', '5'],
    ['amends no table that fw4 has loaded since it was named', 'fw4 -q restart', '3'],
  ])('has a helper that %s', async (_name, between, code) => {
    await bring(...base);
    const { before, after } = EXCERPT_FILES;
    const script = `${KERNEL_HELPER_PATH} dump >/dev/null
cp /etc/config/firewall ${before}
cp /etc/config/firewall ${after}
${KERNEL_HELPER_PATH} render >/dev/null
handle=$(nft -a list table inet fw4 | sed -n 's/^table inet fw4 { # handle //p')
printf '%s\\ndelete input_lan 4000000\\n' "$handle" >${STEPS_FILE}
${between}
${KERNEL_HELPER_PATH} amend
echo $?
`;
    expect(run(script).trim()).toBe(code);
  });

  it('changes at random', async () => {
    const names = Array.from({ length: 12 }, (_, at) => `r${at}`);
    const options = fc.record({
      src: fc.constantFrom('lan', 'wan'),
      target: fc.constantFrom('ACCEPT', 'REJECT', 'DROP'),
      proto: fc.constantFrom('tcp', 'udp', ['tcp', 'udp']),
      dest_port: fc.constantFrom('1', '2-3'),
    });
    const section = fc.oneof(
      { weight: 2, arbitrary: options.map((some) => (name: string) => rule(name, some)) },
      options.map((some) => (name: string) => rule(name, { ...some, dest: 'lan' })),
      options.map(
        ({ dest_port }) =>
          (name: string) =>
            dnat(name, { src_dport: dest_port }),
      ),
    );
    const step = fc.record({ at: fc.nat(names.length - 1), to: fc.option(section) });
    let held: readonly (((name: string) => UciSection) | null)[] = names.map(() => null);
    for (const { at, to } of fc.sample(step, { numRuns: caseCount(40), seed: SEED })) {
      held = held.with(at, to);
      await bring(...held.flatMap((make, place) => make?.(names[place] ?? '') ?? []));
    }
    expect(amended()).toBeGreaterThan(0);
  }, 600_000);
});

it('compares rules by chain, order and content, not by handles', () => {
  const listed = (...handles: number[]): string =>
    JSON.stringify({
      nftables: handles.map((handle) => ({ rule: { chain: 'c', handle, expr: [] } })),
    });
  expect(rulesIn(listed(1, 2))).toEqual(rulesIn(listed(7, 8)));
  expect(rulesIn(listed(1, 2))).not.toEqual(rulesIn(listed(1)));
});
