/**
 * A device that is nearly full, on the simulator and on the device that the run was given: nothing
 * is written, the cause is named, and the change is made when there is room.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startOpenwrt, type TestOpenwrt } from '../agent/support/openwrt.ts';
import { deleted, firewallRule, openPass, zone, type TestPass } from '../agent/support/pass.ts';
import { namedDevice } from './named-device.ts';
import { onDevice, recordedPath, type Stage } from './stage.ts';

const given = namedDevice();
/** The agent's own login alone may ask how much space there is. */
const devices = given?.inside && recordedPath(given) === 'ubus-fast' ? [given] : [];

/** Some 60 kB of package firewall. */
const rules = [
  zone('lan1', 'ovn-net1'),
  ...Array.from({ length: 300 }, (_, at) => firewallRule(`nearly-full-${at}`)),
];
const one = firewallRule('one-more');

/**
 * Too small for a second copy of the package, and large enough for what is there and for one more
 * rule.
 */
const places: Record<string, { fill: string; free: string }> = {
  '/etc/config': {
    fill: `cp -a /etc/config /tmp/config-of-before
mount -t tmpfs -o size=160k tmpfs /etc/config
cp -a /tmp/config-of-before/. /etc/config
head -c $(($(df -Pk /etc/config | awk 'NR == 2 { print $4 }') * 1024 - 30000)) /dev/zero >/etc/config/.filler
`,
    free: 'rm -f /etc/config/.filler\ncp -a /etc/config/. /tmp/config-of-before\numount /etc/config\ncp -a /tmp/config-of-before/. /etc/config\nrm -r /tmp/config-of-before\n',
  },
  '/tmp': {
    fill: 'mount -t tmpfs -o size=40k tmpfs /var/run/rpcd\n',
    free: 'umount /var/run/rpcd\n',
  },
};

describe.each(devices)('nearly full on $url', (device) => {
  const { inside = () => '' } = device;
  let stage: Stage;
  beforeEach(async () => {
    stage = await onDevice(device);
    await stage.pass.run(rules);
  });
  afterEach(async () => {
    await stage.pass.run([...rules, one].map(deleted));
    await stage.leave();
  });

  it.each(Object.entries(places))('%s', async (place, { fill, free }) => {
    const before = stage.hands.text('firewall');
    inside(fill);
    try {
      await expect(stage.pass.run([...rules, one])).rejects.toThrow(
        `change firewall: no space left: ${place} of OpenWRT has`,
      );
      expect(stage.hands.text('firewall')).toBe(before);
    } finally {
      inside(free);
    }
    await stage.pass.run([...rules, one]);
    expect(stage.pass.states()['one-more']).toBe('Applied');
  });
});

const KILOBYTE = 1_024;
const first = [zone('lan1', 'ovn-net1'), firewallRule('a')];
const WHERE = { '/etc/config': 'freeBytes', '/tmp': 'freeBytesOfTmp' } as const;

describe('nearly full, on the simulator', () => {
  let openwrt: TestOpenwrt;
  let agent: TestPass;
  afterEach(async () => {
    await agent.driver.close();
    await openwrt.stop();
  });

  it.each(Object.entries(WHERE))('%s', async (place, free) => {
    openwrt = await startOpenwrt({ login: 'mounted' });
    agent = await openPass(openwrt);
    await agent.run(first);
    const { store } = openwrt.simulator;
    const before = openwrt.text('firewall');
    const transactions = agent.transactions().length;

    store[free] = KILOBYTE;
    await expect(agent.run([...first, firewallRule('b')])).rejects.toThrow(
      `change firewall: no space left: ${place} of OpenWRT has 1 kB free, and the change needs`,
    );
    expect(openwrt.text('firewall')).toBe(before);
    expect(agent.transactions()).toHaveLength(transactions);

    store[free] = Infinity;
    await agent.run([...first, firewallRule('b')]);
    expect(agent.states()).toEqual({ lan1: 'Applied', a: 'Applied', b: 'Applied' });
  });
});
