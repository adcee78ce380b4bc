/**
 * A mwan3 that makes its rules with nft, on the device that the run was given: what it puts into
 * the kernel is what its package asks for, and what others take out comes back.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KERNEL_HELPER_PATH } from '#shared/inject/own-login-files.ts';
import { parsePackage } from '#shared/uci/parse.ts';
import { KERNEL_FILE } from '../../../agent/openwrt/kernel/helper.ts';
import { compareMwan3 } from '../../../agent/openwrt/kernel/mwan3-compare.ts';
import { readMwan3 } from '../../../agent/openwrt/kernel/mwan3-read.ts';
import { cr, deleted } from '../agent/support/pass.ts';
import { PUT_NFT_MWAN3, REMOVE_NFT_MWAN3 } from './mwan3-of-nft.ts';
import { isSimulated } from './mwan3-places.ts';
import { namedDevice } from './named-device.ts';
import { onDevice, type Stage } from './stage.ts';

const TIMEOUT_MS = 300_000;
const NEVER = new AbortController().signal;

const members = [
  { network: 'ovn-net1', metric: 1, weight: 3 },
  { network: 'ovn-net2', metric: 1, weight: 1 },
];
const rules = [
  cr('Mwan3Policy', 'k-both', { members }),
  cr('Mwan3Rule', 'k-web', { policy: 'k-both', proto: 'tcp', dest_port: '443 80 81' }),
  cr('Mwan3Rule', 'k-kept', { policy: 'k-both', proto: 'udp', sticky: 1, family: 'ipv4' }),
  cr('Mwan3Rule', 'k-six', { policy: 'blackhole', src_ip: '2001:db8::1' }),
  cr('Mwan3Rule', 'k-ping', { policy: 'default', proto: 'icmp', family: 'all' }),
];
const applied = Object.fromEntries(rules.map(({ metadata }) => [metadata.name, 'Applied']));

describe.skipIf(isSimulated)('a mwan3 of nft, on a device', () => {
  let stage: Stage;
  let inside: (script: string) => string;
  let before: string;
  const isLoaded = (words: string): boolean =>
    inside('nft -s list table inet mwan3 2>/dev/null || true\n').includes(words);

  beforeAll(async () => {
    const device = namedDevice();
    if (device?.inside === undefined) throw new Error('no device');
    ({ inside } = device);
    stage = await onDevice(device);
    before = stage.hands.text('mwan3');
    inside(PUT_NFT_MWAN3);
    await stage.pass.run(rules);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await stage.pass.run(rules.map(deleted));
    stage.hands.write('mwan3', before);
    inside(REMOVE_NFT_MWAN3);
    await stage.leave();
  }, TIMEOUT_MS);

  it.each(['net1', 'net2'])('has all that its package asks for, without %s too', (uplink) => {
    const state = (is: string): string =>
      `echo ${is} >/var/run/mwan3/iface_state/${uplink}; (. /lib/mwan3/common.sh; load)\n`;
    for (const is of ['offline', 'online']) {
      inside(state(is));
      const there = inside(`${KERNEL_HELPER_PATH} mwan3 >/dev/null\ncat ${KERNEL_FILE}\n`);
      const { sections } = parsePackage('mwan3', stage.hands.text('mwan3'));
      const { lacking, incomparable } = compareMwan3(sections, () => readMwan3(there));
      expect([...lacking, ...incomparable]).toEqual([]);
      expect(stage.pass.states()).toEqual(applied);
    }
  });

  it.each([
    ['its table', 'delete table inet mwan3', 'udp meta nfproto ipv4'],
    ['all rules', 'flush chain inet mwan3 mwan3_rules', 'ip6 saddr 2001:db8::1'],
    ['what leads to them', 'flush chain inet mwan3 mwan3_prerouting', 'jump mwan3_rules'],
    ['the members of a policy', 'flush chain inet mwan3 mwan3_policy_k_both', 'numgen inc mod 4'],
  ])(
    'has again what others have taken out: %s',
    async (_what, command, words) => {
      const { length } = stage.pass.transactions();
      const repairs = stage.pass.driftRepairs();
      expect(isLoaded(words)).toBe(true);
      inside(`nft ${command}\n`);
      expect(isLoaded(words)).toBe(false);
      /** A package that was written is a cause to look. */
      stage.hands.write('mwan3', `${stage.hands.text('mwan3')}\nconfig note 'n_${length}'\n`);
      await stage.pass.driver.fingerprint(NEVER);
      await stage.pass.run(rules);
      await stage.pass.run(rules);
      expect(isLoaded(words)).toBe(true);
      expect(stage.pass.states()).toEqual(applied);
      expect(stage.pass.driftRepairs()).toBe(repairs + 1);
    },
    TIMEOUT_MS,
  );
});
