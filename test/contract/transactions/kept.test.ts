/**
 * What is not known is not gone: packages that cannot be read, kinds that are not served, specs
 * that are not valid, and restarts between all of them.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import { deleted, firewallRule, mwan3Rule, policy, zone } from './rules.ts';
import { PATHS, startFixture, type Agent, type Fixture } from './fixture.ts';

const MWAN3 = ['balance', 'https'];
const inMwan3 = [policy('balance'), mwan3Rule('https', '443')];
const rules = [zone, firewallRule('web', '80'), ...inMwan3];

describe.each(PATHS)('on the %s path', (path) => {
  let fixture: Fixture;
  let agent: Agent;
  beforeEach(async () => {
    fixture = await startFixture(path);
    agent = await fixture.open();
    await agent.pass(rules);
  });
  afterEach(() => fixture.stop());

  const restartAgent = async (): Promise<void> => {
    agent = await fixture.open();
  };
  const ours = () => fixture.names('mwan3').filter((name = '') => MWAN3.includes(name));

  /** While mwan3 cannot be read. */
  const expectPending = async (): Promise<void> => {
    const leaving = [zone, firewallRule('more', '81'), ...inMwan3.map(deleted)];
    await agent.pass(leaving);
    expect(agent.states()).toEqual({
      lan1: 'Applied',
      more: 'Applied',
      balance: 'Pending: WaitingForPackage',
      https: 'Pending: WaitingForPackage',
    });
  };
  const expectGone = async (): Promise<void> => {
    await agent.pass(inMwan3.map(deleted));
    expect(agent.states()).toEqual({ balance: 'Removed', https: 'Removed' });
    expect(ours()).toEqual([]);
    expect(fixture.names('mwan3')).toContain('admin_only');
    expect(fixture.lies()).toEqual([]);
  };

  const whole = (): string => fixture.text('mwan3');
  it.each([
    ['that an administrator broke', 'the same agent'],
    ['that an administrator broke', 'one that was restarted'],
    ['that may not be read', 'the same agent'],
    ['that may not be read', 'one that was restarted'],
  ])(
    'does not touch a package %s, and %s removes ours when it can be read again',
    async (what, which) => {
      const good = whole();
      if (what === 'that an administrator broke')
        fixture.write('mwan3', `${good}\nconfig policy 'open\n`);
      else
        fixture.simulator.faults.add({
          object: path === 'fast' ? 'file' : 'uci',
          contains: path === 'fast' ? '/etc/config/mwan3' : '"config":"mwan3"',
          action: { kind: 'status', status: 6 },
        });
      const unread = whole();
      await expectPending();
      if (which !== 'the same agent') await restartAgent();
      await expectPending();
      expect(whole()).toBe(unread);
      fixture.simulator.faults.clear();
      fixture.write('mwan3', good);
      await expectGone();
    },
  );

  it('sections of kinds that the API server does not serve stay, and go when it does again', async () => {
    await restartAgent();
    const unserved = ['Mwan3Policy', 'Mwan3Rule', 'FirewallRule'];
    await agent.pass([], unserved);
    expect(ours()).toEqual(MWAN3);
    expect(fixture.names('firewall')).toContain('sdewan_rule_web');
    expect(fixture.names('firewall')).not.toContain('sdewan_zone_lan1');
    await agent.pass([zone, firewallRule('more', '81')], ['Mwan3Policy', 'Mwan3Rule']);
    expect(ours()).toEqual(MWAN3);
    await agent.pass([]);
    expect(ours()).toEqual([]);
  });

  it('blocks no deletion by a package without any of our sections', async () => {
    fixture.write('mwan3', '');
    await agent.pass([zone, firewallRule('web', '80')]);
    expect(agent.states()).toEqual({ lan1: 'Applied', web: 'Applied' });
    fixture.write('mwan3', "\nconfig interface 'net1'\n");
    await agent.pass(rules);
    expect(ours()).toEqual(MWAN3);
  });

  const portOf = (name: string) =>
    fixture.sections('firewall').find((section) => section.name === `sdewan_rule_${name}`)?.options[
      'dest_port'
    ];
  const invalid = (generation: number): RuleObject => firewallRule('web', 'not a port', generation);

  it('keeps the last good spec in force over restarts of both, while the new one is not valid', async () => {
    const restartOpenwrt = async (): Promise<void> => fixture.simulator.restart();
    for (const restart of [restartAgent, restartOpenwrt, restartAgent]) {
      await agent.converge([zone, invalid(2)]);
      await restart();
      await agent.converge([zone, invalid(2)]);
      expect(portOf('web')).toBe('80');
      expect(agent.states()).toMatchObject({ web: 'Failed: InvalidSpec' });
      expect(agent.generationInForce('web')).toBe(1);
    }
    await restartAgent();
    await agent.pass([zone, firewallRule('web', '81', 3)]);
    await restartAgent();
    await agent.pass([zone, invalid(4)]);
    expect(portOf('web')).toBe('81');
    // A rule that went and comes back as a new one has none.
    await agent.pass([zone, deleted(invalid(4))]);
    await agent.pass([zone]);
    await agent.pass([zone, invalid(1)]);
    expect(portOf('web')).toBeUndefined();
  });
});

describe.each(PATHS)('on the %s path, with a service that refuses', (path) => {
  let fixture: Fixture;
  let agent: Agent;
  let isRefusing: boolean;
  /** As with an administrator's error. */
  let isEverythingRefused: boolean;
  let reloads: number;
  beforeEach(async () => {
    isRefusing = true;
    isEverythingRefused = false;
    reloads = 0;
    fixture = await startFixture(path, {
      '/sbin/fw4': () => {
        reloads += 1;
        const refuses = isRefusing && fixture.names('firewall').includes('sdewan_rule_bad');
        const stderr = refuses ? 'x: Error: no such thing\n\tcomment "!fw4: bad"\n' : '';
        return { code: 0, stdout: '', stderr: isEverythingRefused ? 'Error: not by us\n' : stderr };
      },
    });
    agent = await fixture.open();
  });
  afterEach(() => fixture.stop());

  const bad = [zone, firewallRule('bad', '81'), firewallRule('good', '82')];
  const refused = { lan1: 'Applied', bad: 'Failed: RefusedByOpenwrt', good: 'Applied' };

  it('tries a refused rule again when OpenWRT has restarted', async () => {
    await agent.pass(bad);
    expect(agent.states()).toEqual(refused);
    isRefusing = false;
    await agent.pass(bad);
    expect(agent.states()).toEqual(refused);
    fixture.simulator.restart();
    await agent.converge(bad);
    expect(agent.states()).toEqual({ ...refused, bad: 'Applied' });
  });

  it('keeps a rule whose reload failed until a reload succeeded, whatever blocks it', async () => {
    const { faults } = fixture.simulator;
    isRefusing = false;
    await agent.pass(bad);
    const leaving = bad.map(deleted);
    faults.add({ object: 'file', method: 'exec', action: { kind: 'reset' } });
    await expect(agent.pass(leaving)).rejects.toThrow('file exec');
    faults.clear();
    isEverythingRefused = true;
    for (let tries = 1; tries <= 3; tries += 1) {
      await agent.pass(leaving);
      expect(new Set(Object.values(agent.states()))).toEqual(
        new Set(['Pending: WaitingForPackage']),
      );
      await agent.driver.close();
      agent = await fixture.open();
    }
    isEverythingRefused = false;
    const before = reloads;
    await agent.pass(leaving);
    expect(reloads).toBeGreaterThan(before);
    expect(new Set(Object.values(agent.states()))).toEqual(new Set(['Removed']));
  });
});
