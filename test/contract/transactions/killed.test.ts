/**
 * An agent that is killed, and rules that are deleted while it is dead: what it has written must
 * go, and nothing else. Only the ledger knows that sections of mwan3 are ours; were the rules still
 * there, the next agent would write the same again, whatever it knew.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DeviceSection } from '../../openwrt/checks/uci.ts';
import { firstCall, STRIDE } from '../each-call.ts';
import { firewallRule, mwan3Rule, policy, zone } from './rules.ts';
import { dieAt, PACKAGES, PATHS, startFixture, type Fixture } from './fixture.ts';

const rules = [zone, firewallRule('web', '80'), policy('balance'), mwan3Rule('https', '443')];
const LEAST_CALLS = 8;
const WRITTEN = ['firewall', 'mwan3'];

const isForeign = ({ name, options }: DeviceSection): boolean =>
  !name?.startsWith('sdewan_') && options['sdewan_made'] === undefined;

describe.each(PATHS)('on the %s path, an agent that is killed', (path) => {
  const turn = PATHS.indexOf(path);
  let fixture: Fixture;
  beforeEach(async () => {
    fixture = await startFixture(path);
  });
  afterEach(() => fixture.stop());

  const allSections = () => PACKAGES.map((name) => fixture.sections(name));

  it('leaves nothing behind when its rules are deleted meanwhile, whatever call was the last', async () => {
    const foreign = allSections();
    let calls = firstCall(turn);
    for (let died = true; died; calls += STRIDE) {
      const killed = await fixture.open();
      died = await dieAt(fixture, calls, () => killed.pass(rules));
      const next = await fixture.open();
      await next.pass([]);
      expect(allSections(), `after a death at call ${calls}`).toEqual(foreign);
    }
    expect(calls).toBeGreaterThan(LEAST_CALLS);
    expect(fixture.lies()).toEqual([]);
  });

  const foreign = () => PACKAGES.map((name) => fixture.sections(name).filter(isForeign));
  const writeAsAdmin = (section: string): void => {
    for (const name of WRITTEN)
      fixture.write(name, `${fixture.text(name)}\nconfig rule '${section}'\n`);
  };

  it.each([
    { rulesDo: 'go', after: [] },
    { rulesDo: 'stay', after: rules },
  ])(
    'takes nothing along of what an administrator writes after it, whatever call was the last, where its rules $rulesDo',
    async ({ after }) => {
      let calls = firstCall(turn + after.length);
      for (let died = true; died; calls += STRIDE) {
        const killed = await fixture.open();
        died = await dieAt(fixture, calls, () => killed.pass(rules));
        writeAsAdmin(`admin_${calls}`);
        const expected = foreign();
        const next = await fixture.open();
        await next.converge(after);
        expect(foreign(), `after a death at call ${calls}`).toEqual(expected);
        await next.converge([]);
      }
      expect(calls).toBeGreaterThan(LEAST_CALLS);
      expect(fixture.lies()).toEqual([]);
    },
  );

  it('takes nothing along of what an administrator writes when it has lost an answer instead, whichever it was', async () => {
    const { faults } = fixture.simulator;
    let calls = firstCall(turn + 1);
    for (let wasHit = true; wasHit; calls += STRIDE) {
      wasHit = false;
      const lost = { skip: calls, times: 1, when: 'after', action: { kind: 'reset' } } as const;
      faults.add(lost, () => {
        wasHit = true;
        writeAsAdmin(`admin_${calls}`);
      });
      const agent = await fixture.open();
      await agent.pass(rules).catch(() => undefined);
      faults.clear();
      const expected = foreign();
      await agent.converge(rules);
      expect(foreign(), `after a lost answer at call ${calls}`).toEqual(expected);
      expect(fixture.names('mwan3').includes(`admin_${calls}`)).toBe(wasHit);
      await agent.converge([]);
    }
    expect(calls).toBeGreaterThan(LEAST_CALLS);
    expect(fixture.lies()).toEqual([]);
  });
});
