import { describe, expect, it } from 'vitest';
import { informationSchema, type Information } from '#shared/protocol/information.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { NOTHING_KNOWN } from '../reconcile/standing.ts';
import { createStatus } from './status.ts';

const start = () => {
  const world = {
    now: 0,
    unknownKinds: [] as string[],
    changes: 0,
    information: undefined as Information | undefined,
  };
  const status = createStatus({
    driver: { name: 'ubus' },
    source: {
      unknownKinds: () => world.unknownKinds,
      unwatchedKinds: () => new Map([['FirewallRule', 'Forbidden: no']]),
    },
    information: () => world.information,
    commentsLost: () => ['firewall'],
    onChange: () => {
      world.changes += 1;
    },
    clock: { ...systemClock, monotonic: () => world.now },
  });
  return { world, status };
};

const refused = { outcome: 'unanswered', message: 'connection refused' } as const;

describe('agent status', () => {
  it('is not ready before OpenWRT answered and a first pass is done, and names both', () => {
    const { status } = start();
    status.addAttempt(refused);
    expect([...status.notReady()]).toEqual([
      ['openwrt', 'connection refused'],
      ['first pass', 'connection refused'],
    ]);
    status.addAttempt({ outcome: 'answered' });
    expect([...status.notReady().keys()]).toEqual(['first pass']);
    status.addAttempt({ outcome: 'passed' });
    expect(status.notReady().size).toBe(0);
  });

  it('is not ready while it is not known which rules there are', () => {
    const { world, status } = start();
    status.addAttempt({ outcome: 'passed' });
    world.unknownKinds = ['Mwan3Rule'];
    expect([...status.notReady()]).toEqual([['rules', 'not listed yet: Mwan3Rule']]);
  });

  it('takes OpenWRT for reachable over a silence of some seconds, not longer', () => {
    const { world, status } = start();
    status.addAttempt({ outcome: 'passed' });
    // One attempt may take long: a pass, or a call that waits for its answer in vain.
    world.now = 60_000;
    status.addAttempt(refused);
    world.now = 64_000;
    status.addAttempt(refused);
    expect(status.snapshot().openwrt.reachable).toBe(true);
    expect(status.notReady().size).toBe(0);
    const { changes } = world;
    world.now = 65_001;
    status.addAttempt(refused);
    expect(status.snapshot().openwrt).toMatchObject({
      reachable: false,
      message: 'connection refused',
    });
    expect([...status.notReady().keys()]).toEqual(['openwrt']);
    expect(world.changes).toBe(changes + 1);
    status.addAttempt({ outcome: 'answered' });
    expect(status.notReady().size).toBe(0);
  });

  it('stays reachable when a pass is hindered, and says by what', () => {
    const { status } = start();
    status.addAttempt({ outcome: 'passed' });
    status.addAttempt({ outcome: 'hindered', message: 'another apply is pending' });
    expect(status.snapshot().openwrt).toMatchObject({
      reachable: true,
      message: 'another apply is pending',
    });
    expect(status.notReady().size).toBe(0);
  });

  it('names the kinds that are not watched, and counts drift', () => {
    const { status } = start();
    status.addDrift();
    expect(status.snapshot().unwatchedKinds).toEqual(['FirewallRule']);
    expect(status.snapshot().openwrt.driftRepairs).toBe(1);
  });

  it("tells what ICN's controller left beside how OpenWRT is, within the same bounds", () => {
    const { world, status } = start();
    const name = 'x'.repeat(200);
    const leftOvers = Array.from({ length: 40 }, (_, at) => ({
      package: 'firewall',
      type: 'forwarding',
      name: `${at}${name}`,
    }));
    const packages = new Map([
      ['FirewallRule', 'firewall'],
      ['Mwan3Rule', 'mwan3'],
    ]);
    status.setStanding({ ...NOTHING_KNOWN, leftOvers, packages });
    expect(status.snapshot().information).toBeUndefined();
    world.information = { interfaces: [], routes: [], tunnels: [], wans: [], leftOut: 1 };
    const { information } = status.snapshot();
    expect(informationSchema.safeParse(information).success).toBe(true);
    expect(information).toMatchObject({ leftOvers: { length: 32 }, leftOut: 9 });
    expect([...status.leftOvers()]).toEqual([
      ['firewall', 40],
      ['mwan3', 0],
    ]);
  });

  it('calls back for changes only', () => {
    const { world, status } = start();
    status.addAttempt({ outcome: 'passed' });
    const { changes } = world;
    status.addAttempt({ outcome: 'answered' });
    status.addAttempt({ outcome: 'answered' });
    expect(world.changes).toBe(changes);
  });
});
