/**
 * An agent that is killed, and rules that are deleted while it is dead: what it has written must go, and nothing else. Only the ledger
 * knows that sections of mwan3 are ours; were the rules still there, the next agent would write the same again, whatever it knew.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { firewallRule, mwan3Rule, policy, zone } from './rules.ts';
import { dieAt, PACKAGES, PATHS, startWorld, type World } from './world.ts';

const rules = [zone, firewallRule('web', '80'), policy('balance'), mwan3Rule('https', '443')];
const LEAST_CALLS = 8;

describe.each(PATHS)('on the %s path, an agent that is killed', (path) => {
  let world: World;
  beforeEach(async () => {
    world = await startWorld(path);
  });
  afterEach(() => world.stop());

  const allSections = () => PACKAGES.map((name) => world.sections(name));

  it('leaves nothing behind when its rules are deleted meanwhile, whatever call was the last', async () => {
    const foreign = allSections();
    let calls = 0;
    for (let died = true; died; calls += 1) {
      const killed = await world.open();
      died = await dieAt(world, calls, () => killed.pass(rules));
      const next = await world.open();
      await next.pass([]);
      expect(allSections(), `after a death at call ${calls}`).toEqual(foreign);
    }
    expect(calls).toBeGreaterThan(LEAST_CALLS);
    expect(world.lies()).toEqual([]);
  });
});
