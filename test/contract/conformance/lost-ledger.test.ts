/**
 * An agent on an OpenWRT that holds what an earlier one wrote, of whose files it has none. Sections
 * whose names do not tell whose they are are ours by their stamp; what an administrator made is
 * not, were it as a rule has it. On the simulator, and on the device that the run was given.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { STAMP } from '#shared/compile/stamp.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { readUci, type DeviceSection } from '../../openwrt/checks/uci.ts';
import { cr, deleted, type TestPass } from '../agent/support/pass.ts';
import { namedDevice } from './named-device.ts';
import { onDevice, onSimulator, type Stage } from './stage.ts';

const policy = (name: string, weight = 1): RuleObject =>
  cr('Mwan3Policy', name, { members: [{ network: 'ovn-net1', metric: 1, weight }] });
const rules = [
  policy('kept'),
  policy('changed'),
  cr('Mwan3Rule', 'web', { policy: 'kept', proto: 'tcp', dest_port: '80' }),
  cr('IpsecProposal', 'strong', { encryption_algorithm: 'aes256', dh_group: 'modp3072' }),
];
/** What a rule `same` would come to. */
const SAME = `
config member 'same_net1'
	option interface 'net1'
	option metric '1'
	option weight '1'

config policy 'same'
	list use_member 'same_net1'
`;

const given = namedDevice();
const places: [string, () => Promise<Stage>][] = [
  ['the simulator, fast', () => onSimulator('ubus-fast')],
  ['the simulator, staged', () => onSimulator('ubus-staged')],
];
if (given?.inside && given.api === 'ubus') places.push([given.url, () => onDevice(given)]);
const WITHIN_MS = 60_000;
const NEVER = new AbortController().signal;

describe.each(places)('an agent without its ledger on %s', (_place, start) => {
  let stage: Stage;
  let before: Record<'mwan3' | 'ipsec', string>;
  let agent: TestPass;
  beforeEach(async () => {
    stage = await start();
    before = { mwan3: stage.hands.text('mwan3'), ipsec: stage.hands.text('ipsec') };
    stage.hands.write('mwan3', `${before.mwan3}${SAME}`);
    await stage.pass.run(rules);
    agent = await stage.withoutState();
  }, WITHIN_MS);
  afterEach(async () => {
    for (const [name, text] of Object.entries(before)) stage.hands.write(name, text);
    // mwan3 has in the kernel what the administrator's sections were.
    const { driver } = stage.pass;
    await driver.read(NEVER);
    await driver.apply([{ package: 'mwan3', remove: [], set: [], append: [] }], NEVER);
    await stage.leave();
  }, WITHIN_MS);

  const sections = (name: 'mwan3' | 'ipsec'): DeviceSection[] => readUci(stage.hands.text(name));
  const namesIn = (name: 'mwan3' | 'ipsec') => sections(name).map((section) => section.name);
  const statesOf = (state: string) =>
    Object.fromEntries(rules.map(({ metadata }) => [metadata.name, state]));

  it(
    'knows its sections, and writes nothing where they are as wanted',
    { timeout: WITHIN_MS },
    async () => {
      await agent.run(rules);
      expect(agent.states()).toEqual(statesOf('Applied'));
      expect(agent.transactions()).toEqual([]);
    },
  );

  it('changes those of a rule that has changed', { timeout: WITHIN_MS }, async () => {
    const changed = rules.map((rule) =>
      rule.metadata.name === 'changed' ? policy('changed', 7) : rule,
    );
    await agent.run(changed);
    expect(agent.states()).toEqual(statesOf('Applied'));
    const member = sections('mwan3').find(({ name }) => name === 'changed_net1');
    expect(member?.options['weight']).toBe('7');
  });

  it('confirms a deletion only when the sections are gone', { timeout: WITHIN_MS }, async () => {
    await agent.run(rules.map(deleted));
    expect(agent.states()).toEqual(statesOf('Removed'));
    expect([sections('mwan3'), sections('ipsec')]).toEqual([
      readUci(`${before.mwan3}${SAME}`),
      readUci(before.ipsec),
    ]);
  });

  it('removes what no rule asks for any more', { timeout: WITHIN_MS }, async () => {
    await agent.run([]);
    expect(namesIn('mwan3')).toEqual(readUci(`${before.mwan3}${SAME}`).map(({ name }) => name));
    expect(namesIn('ipsec')).toEqual(readUci(before.ipsec).map(({ name }) => name));
  });

  it(
    "leaves an administrator's alone, were they as a rule has them",
    { timeout: WITHIN_MS },
    async () => {
      await agent.run([...rules, policy('same')]);
      expect(agent.states()['same']).toBe('Failed: NameTaken');
      await agent.run(rules);
      await agent.run([...rules, deleted(policy('same'))]);
      expect(agent.states()['same']).toBe('Removed');
      expect(namesIn('mwan3')).toEqual(expect.arrayContaining(['same_net1', 'same']));
    },
  );

  it(
    'leaves alone what an administrator copied of ours, or gave another name',
    { timeout: WITHIN_MS },
    async () => {
      const ours = stage.hands.text('mwan3');
      const copied = ours.match(/\nconfig policy 'kept'\n(?:\t.*\n)+/)?.[0] ?? '';
      expect(copied).toContain(STAMP);
      const mine = copied.replace("policy 'kept'", "policy 'mine'");
      stage.hands.write('mwan3', `${ours.replace("policy 'changed'", "policy 'renamed'")}${mine}`);
      await agent.run(rules);
      await agent.run([]);
      expect(namesIn('mwan3')).toEqual(expect.arrayContaining(['renamed', 'mine']));
      expect(namesIn('mwan3')).not.toContain('kept');
    },
  );
});
