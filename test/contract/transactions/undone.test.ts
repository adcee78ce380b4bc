/**
 * A change that OpenWRT refuses is undone in the files and in the services, whichever way it was
 * written, and never thought undone when it is not.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import { deltaOf } from '#shared/uci/delta.ts';
import type { UciSection } from '#shared/uci/model.ts';
import type { Driver } from '../../../agent/openwrt/driver.ts';
import { PATHS, startFixture, type Fixture } from './fixture.ts';

const NEVER = new AbortController().signal;
const rule = (name: string, port: string): UciSection =>
  namedSection('rule', `sdewan_rule_${name}`, { name, src: 'lan', dest_port: port });
const before = [rule('stays', '1'), rule('changes', '2'), rule('goes', '3')];
const after = [rule('stays', '1'), rule('changes', '20'), rule('bad', '4')];
const REFUSAL = 'x: Error: no such thing\n\tcomment "!fw4: bad"\n';
/** Calls that only an undo makes; and the message when it was not done. */
const NOT_RESTORED = 'undo firewall: these sections are not as before';
const FAST: readonly [string, string, string][] = [
  ['rollback', '', 'another user or program has changed it'],
];
const STAGED: readonly [string, string, string][] = [
  ['delete', '"section":"sdewan_rule_bad"', NOT_RESTORED],
  ['set', '"dest_port":"2"', NOT_RESTORED],
  ['add', '"name":"sdewan_rule_goes"', NOT_RESTORED],
];
const POLICY = namedSection('policy', 'ours', { last_resort: 'default' });

describe.each(PATHS)('on the %s path', (path) => {
  let fixture: Fixture;
  let driver: Driver;
  let reloads: number;
  beforeEach(async () => {
    reloads = 0;
    fixture = await startFixture(path, {
      '/sbin/fw4': () => {
        reloads += 1;
        const isBad = fixture.names('firewall').includes('sdewan_rule_bad');
        return { code: 0, stdout: '', stderr: isBad ? REFUSAL : '' };
      },
    });
    ({ driver } = await fixture.open());
    await bring(before);
  });
  afterEach(() => fixture.stop());

  const bring = async (desired: readonly UciSection[], policies: readonly UciSection[] = []) => {
    const { packages } = await driver.read(NEVER);
    const wanted = { firewall: desired, mwan3: policies };
    const deltas = Object.entries(wanted).map(([name, sections]) =>
      deltaOf({
        observed: packages.get(name) ?? { name, sections: [] },
        desired: sections,
        isOurs: (section) => [...before, ...after, POLICY].some((one) => one.name === section.name),
      }),
    );
    return driver.apply(deltas, NEVER);
  };
  const ports = () =>
    fixture
      .sections('firewall')
      .filter(({ name }) => name?.startsWith('sdewan_rule_'))
      .map(({ options }) => options['dest_port']);
  const files = () => [fixture.sections('firewall'), fixture.sections('mwan3')];

  it('has all as it was, in both packages, and the service has taken that', async () => {
    const [held, reloadsBefore] = [files(), reloads];
    expect(await bring(after, [POLICY])).toMatchObject({
      outcome: 'rejected',
      package: 'firewall',
      message: 'Error: no such thing',
      sections: ['sdewan_rule_bad'],
    });
    expect(files()).toEqual(held);
    expect(reloads - reloadsBefore).toBe(2);
    // Nothing is left that would be applied with the next change, or undone after it.
    expect(await bring([...before, rule('good', '5')])).toMatchObject({ outcome: 'done' });
    fixture.passDeviceTime(60_000);
    expect(fixture.names('firewall').slice(-1)).toEqual(['sdewan_rule_good']);
    expect(fixture.names('mwan3')).not.toContain(POLICY.name);
  });

  it.each(path === 'fast' ? FAST : STAGED)(
    'does not count as undone what a `uci %s` that answers success did not undo',
    async (method, contains, told) => {
      const { faults } = fixture.simulator;
      faults.add({ object: 'uci', method, contains, action: { kind: 'status', status: 0 } });
      await expect(bring(after)).rejects.toThrow(told);
      expect(fixture.simulator.journal().map(({ event }) => event)).toContain('fault');
      faults.clear();
      // What it left is read, and brought to what is wanted, like anything else.
      expect(await bring(before)).toMatchObject({ outcome: 'done' });
      fixture.passDeviceTime(60_000);
      expect(ports()).toEqual(before.map(({ options }) => options['dest_port']));
    },
  );
});
