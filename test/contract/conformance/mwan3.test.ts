/**
 * What mwan3 puts into the kernel, on the simulator and on the device that the run was given: the
 * same chains of the same package, which the agent's reader finds complete, whichever uplink is up;
 * and what the agent says of its own rules there.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parsePackage } from '#shared/uci/parse.ts';
import { compareMwan3, type Mwan3Compared } from '../../../agent/openwrt/kernel/mwan3-compare.ts';
import { readMwan3 } from '../../../agent/openwrt/kernel/mwan3-read.ts';
import { cr, deleted } from '../agent/support/pass.ts';
import { byChain, isSimulated, onTheSimulator, places, type Place } from './mwan3-places.ts';

const TIMEOUT_MS = 300_000;

const PACKAGE = `
config globals 'globals'
	option mmx_mask '0x3F00'
config interface 'net1'
	option enabled '1'
	option family 'ipv4'
config interface 'net2'
	option enabled '1'
config member 'm_one'
	option interface 'net1'
	option metric '1'
	option weight '3'
config member 'm_two'
	option interface 'net2'
	option weight '1'
config member 'm_later'
	option interface 'net2'
	option metric '2'
config member 'm_never'
	option interface 'net1'
	option metric '300'
config policy 'both'
	list use_member 'm_one'
	list use_member 'm_two'
config policy 'first'
	list use_member 'm_one'
	list use_member 'm_later'
	option last_resort 'blackhole'
config policy 'never'
	list use_member 'm_never'
	option last_resort 'default'
config rule 'ports'
	option use_policy 'both'
	option proto 'tcp'
	option src_port '1024:65535'
	option dest_port '80,443,8000:8100'
config rule 'kept'
	option use_policy 'both'
	option proto 'udp'
	option sticky '1'
	option family 'ipv4'
config rule 'four'
	option use_policy 'first'
	option src_ip '10.1.0.0/255.255.0.0'
	option dest_ip '0.0.0.0/0'
config rule 'six'
	option use_policy 'unreachable'
	option dest_ip '2001:db8::/32'
config rule 'mixed'
	option use_policy 'default'
	option src_ip '10.1.2.3'
	option dest_ip '2001:db8::1'
config rule 'last'
	option use_policy 'never'
	option proto 'icmp'
`;

const compared = (place: Place, text: string): Mwan3Compared =>
  compareMwan3(parsePackage('mwan3', text).sections, () => readMwan3(place.chains()));

describe.each(places)('mwan3 on %s', (_where, open) => {
  let place: Place;
  let model: Place;
  const write = async (text: string): Promise<void> => {
    for (const each of new Set([place, model])) {
      each.edit(text);
      await each.restart();
    }
  };
  beforeAll(async () => {
    place = await open();
    model = isSimulated ? place : await onTheSimulator();
  }, TIMEOUT_MS);
  afterAll(async () => {
    await place.leave();
    if (model !== place) await model.leave();
  }, TIMEOUT_MS);

  describe('what it puts into the kernel', () => {
    let before: string;
    let uci: string;
    beforeAll(async () => {
      before = place.text();
      uci = place.hasSets ? PACKAGE : PACKAGE.replace("option sticky '1'", "option sticky '0'");
      await write(uci);
    }, TIMEOUT_MS);
    afterAll(() => write(before), TIMEOUT_MS);

    it.each([
      ['net1', true],
      ['net1', false],
      ['net2', false],
      ['net1', true],
    ] as const)(
      'is what the simulator has, and all that the package asks for: %s up: %s',
      (uplink, isOnline) => {
        for (const each of new Set([place, model])) each.setOnline(uplink, isOnline);
        expect(byChain(place.chains())).toEqual(byChain(model.chains()));
        const { lacking, incomparable, refused } = compared(place, uci);
        expect(lacking).toEqual(new Map());
        expect(incomparable).toEqual(refused);
        expect(Object.fromEntries(refused)).toEqual({
          mixed: 'invalid ipv4 address 2001:db8::1 specified for rule mixed',
        });
      },
      TIMEOUT_MS,
    );

    it(
      'is no rule at all where iptables-restore refuses one',
      async () => {
        const many = uci.replace('80,443,8000:8100', '1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16');
        await write(many);
        const { incomparable, refused } = compared(place, many);
        expect(refused.get('ports')).toContain('too many ports specified');
        expect([...incomparable.keys()]).toEqual(['ports', 'kept', 'four', 'six', 'mixed', 'last']);
      },
      TIMEOUT_MS,
    );
  });

  describe('what the agent says of its rules', () => {
    const members = ['ovn-net1', 'ovn-net2'].map((network) => ({ network, metric: 1, weight: 1 }));
    const rules = [
      cr('Mwan3Policy', 'k-both', { members }),
      cr('Mwan3Rule', 'k-web', { policy: 'k-both', proto: 'tcp', dest_port: '80 443' }),
      cr('Mwan3Rule', 'k-six', { policy: 'blackhole', src_ip: '2001:db8::1' }),
    ];
    const kept = cr('Mwan3Rule', 'k-kept', { policy: 'k-both', proto: 'udp', sticky: 1 });
    const applied = { 'k-both': 'Applied', 'k-web': 'Applied', 'k-six': 'Applied' };
    afterAll(() => place.pass.run([...rules, kept].map(deleted)), TIMEOUT_MS);

    it(
      'is that all are applied, and a sticky one that has no sets is not, which keeps no other out',
      async () => {
        await place.pass.run(place.hasSets ? [...rules, kept] : rules);
        expect(place.pass.states()).toEqual({
          ...applied,
          ...(place.hasSets && { 'k-kept': 'Applied' }),
        });
        place.setSets(false);
        try {
          await place.pass.run(rules);
          await place.pass.run([...rules, kept]);
          expect(place.pass.states()).toEqual({ ...applied, 'k-kept': 'Failed: RefusedByOpenwrt' });
          const { message } = place.pass.reports().find(({ name }) => name === 'k-kept') ?? {};
          expect(message).toContain("Set mwan3_rule_ipv4_k_kept doesn't exist");
          expect(place.chains()).toContain('--dports 80,443');
        } finally {
          place.setSets(true);
        }
      },
      TIMEOUT_MS,
    );

    it(
      'does not change with an uplink, and does with the chain',
      async () => {
        await place.pass.run(rules);
        /** A package that was written is a cause to look. */
        const look = async (): Promise<void> => {
          place.edit(`${place.text()}\nconfig note 'n_${place.text().length}'\n`);
          await place.pass.run(rules);
          await place.pass.run(rules);
        };
        const before = place.text();
        const { length } = place.pass.transactions();
        place.setOnline('net1', false);
        await look();
        expect(place.pass.states()).toEqual(applied);
        expect(place.pass.transactions()).toHaveLength(length);
        place.setOnline('net1', true);
        place.flush();
        await look();
        expect(place.pass.transactions()).toHaveLength(length + 1);
        expect(place.pass.states()).toEqual(applied);
        expect(place.chains()).toContain('--dports 80,443');
        place.edit(before);
      },
      TIMEOUT_MS,
    );
  });
});
