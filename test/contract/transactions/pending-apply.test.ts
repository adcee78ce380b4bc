/**
 * An administrator's apply that waits for its confirmation (LuCI's "checking…"): it is waited for,
 * and its way back is not spoilt.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OpenwrtBlockedError } from '../../../agent/openwrt/driver.ts';
import type { TestClient } from '../../openwrt/simulator/test-client.ts';
import { firewallRule, policy, zone } from './rules.ts';
import { startFixture, type Agent, type Fixture } from './fixture.ts';

const SECONDS = 30;
const rules = [zone, firewallRule('web', '80'), policy('balance')];
/** Whether such a pass is blocked, too, is of no interest. */
const ignored = (): void => undefined;
const SSH = { config: 'firewall', section: 'admin_ssh' };

const paths = ['fast', 'staged', 'root'] as const;
const cases = paths.flatMap((path) =>
  (['before', 'after'] as const).map((when) => ({ path, when })),
);

describe.each(cases)('on the $path path, begun $when the agent logs in', ({ path, when }) => {
  let fixture: Fixture;
  let agent: Agent;
  let admin: TestClient;
  beforeEach(async () => {
    fixture = await startFixture(path);
    agent = await fixture.open();
    admin = await fixture.logInAsAdmin();
    if (when === 'after') await agent.pass([]);
  });
  afterEach(() => fixture.stop());

  const port = () => fixture.sections('firewall').find(({ name }) => name === SSH.section)?.options;
  const foreign = () =>
    fixture.sections('firewall').filter(({ name }) => !name?.startsWith('sdewan_'));
  const begin = async (): Promise<void> => {
    await admin.call('uci', 'set', { ...SSH, values: { dest_port: '2222' } });
    expect(await admin.call('uci', 'apply', { rollback: true, timeout: SECONDS })).toEqual([0]);
  };
  const expectBlocked = async (): Promise<void> => {
    const [firewall, mwan3] = [fixture.text('firewall'), fixture.text('mwan3')];
    for (let tries = 1; tries <= 3; tries += 1)
      await expect(agent.pass(rules)).rejects.toBeInstanceOf(OpenwrtBlockedError);
    expect([fixture.text('firewall'), fixture.text('mwan3')]).toEqual([firewall, mwan3]);
    expect(port()).toMatchObject({ dest_port: '2222' });
  };
  const expectApplied = async (): Promise<void> => {
    await agent.pass(rules);
    expect(new Set(Object.values(agent.states()))).toEqual(new Set(['Applied']));
  };

  it('is waited for, stays when it is confirmed, and what is staged after it stays staged', async () => {
    await begin();
    await expectBlocked();
    expect(await admin.call('uci', 'confirm', {})).toEqual([0]);
    // In the session that an agent with the same login would have been given.
    await admin.call('uci', 'set', { ...SSH, values: { dest_port: '3333' } });
    await expectApplied();
    expect(port()).toMatchObject({ dest_port: '2222' });
    fixture.passDeviceTime(2 * SECONDS * 1_000);
    expect(port()).toMatchObject({ dest_port: '2222' });
    expect(fixture.names('firewall')).toContain('sdewan_rule_web');
    expect(await admin.call('uci', 'apply', { rollback: false })).toEqual([0]);
    expect(port()).toMatchObject({ dest_port: '3333' });
    expect(fixture.names('firewall')).toContain('sdewan_rule_web');
  });

  it("is not joined by an agent that has nothing to write: what is staged later is not the agent's", async () => {
    await begin();
    await agent.pass([]).catch(ignored);
    expect(await admin.call('uci', 'confirm', {})).toEqual([0]);
    await admin.call('uci', 'set', { ...SSH, values: { dest_port: '3333' } });
    await expectApplied();
    fixture.passDeviceTime(2 * SECONDS * 1_000);
    expect(port()).toMatchObject({ dest_port: '2222' });
    expect(fixture.names('firewall')).toContain('sdewan_rule_web');
  });

  it('is waited for, and undone as a whole without a confirmation', async () => {
    const before = foreign();
    await begin();
    await expectBlocked();
    fixture.passDeviceTime(SECONDS * 1_000);
    expect(foreign()).toEqual(before);
    await expectApplied();
    expect(foreign()).toEqual(before);
  });
});
