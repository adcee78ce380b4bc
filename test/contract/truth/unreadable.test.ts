/** A package that is empty, or that OpenWRT cannot read, harms no rule of another package. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import type { Fault } from '../../openwrt-simulator/faults.ts';
import { firewallRule, mwan3Rule, policy, zone } from './rules.ts';
import { PATHS, startWorld, type World } from './world.ts';

const before = [zone, firewallRule('changes', '2'), policy('balance'), mwan3Rule('web', '80')];
const after = [
  zone,
  firewallRule('changes', '20', 2),
  firewallRule('comes', '4'),
  policy('balance'),
  mwan3Rule('web', '80'),
];

const proposal = ruleOf('IpsecProposal', 'aes', {
  encryption_algorithm: 'aes128',
  hash_algorithm: 'sha256',
  dh_group: 'modp3072',
});

/** As the fast path asks for it, and as the staged path does. */
const READS: readonly Pick<Fault, 'object' | 'contains'>[] = [
  { object: 'file', contains: '/etc/config/mwan3' },
  { object: 'uci', contains: '"config":"mwan3"' },
];

describe.each(PATHS)('on the %s path', (path) => {
  let world: World;
  beforeEach(async () => {
    world = await startWorld(path);
  });
  afterEach(() => world.stop());

  const ports = () =>
    world
      .sections('firewall')
      .filter(({ name }) => name?.startsWith('sdewan_rule_'))
      .map(({ options }) => options['dest_port']);

  it('a package that somebody emptied gets its rules again', async () => {
    const { converge, states } = await world.open();
    await converge([...before, proposal]);
    world.write('ipsec', '');
    await converge([...after, proposal]);
    expect(world.names('ipsec')).toContain('aes');
    expect(Object.values(states()).filter((state) => state !== 'Applied')).toEqual([]);
  });

  it('rules for which an empty package lacks something wait for that, and no others', async () => {
    world.write('mwan3', '');
    const { converge, states, messageOf } = await world.open();
    await converge(before);
    expect(states()).toEqual({
      lan1: 'Applied',
      changes: 'Applied',
      balance: 'Pending: WaitingForInterface',
      web: 'Pending: WaitingForReference',
    });
    expect(messageOf('balance')).toContain('net1');
  });

  it('while a package cannot be read, rules of others are applied, and its own say so', async () => {
    const { converge, pass, states, messageOf } = await world.open();
    await converge(before);
    const { faults } = world.simulator;
    for (const read of READS) faults.add({ ...read, action: { kind: 'status', status: 7 } });
    await pass(after);
    expect(ports()).toEqual(['20', '4']);
    const waits = 'Pending: WaitingForPackage';
    expect(states()).toEqual({
      lan1: 'Applied',
      changes: 'Applied',
      comes: 'Applied',
      balance: waits,
      web: waits,
    });
    expect(messageOf('web')).toMatch(/^OpenWRT answers code 7 when .*mwan3 is read$/);

    faults.clear();
    await pass(after);
    expect(states()).toMatchObject({ balance: 'Applied', web: 'Applied' });
    expect(world.lies()).toEqual([]);
  });

  it('a package that can be read again is noticed at the next look', async () => {
    const { driver, converge } = await world.open();
    const signal = new AbortController().signal;
    await converge(before);
    for (const read of READS)
      world.simulator.faults.add({ ...read, action: { kind: 'status', status: 7 } });
    const { fingerprint } = await driver.read(signal);
    expect(await driver.fingerprint(signal)).toBe(fingerprint);
    world.simulator.faults.clear();
    expect(await driver.fingerprint(signal)).not.toBe(fingerprint);
  });
});
