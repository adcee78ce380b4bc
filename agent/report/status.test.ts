import { describe, expect, it } from 'vitest';
import { informationSchema, type Information } from '#shared/protocol/information.ts';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import type { Attempt } from '../reconcile/loop.ts';
import { unreadOthersSchema } from '#shared/protocol/report.ts';
import { sentenceOf } from '#shared/protocol/reasons.ts';
import { NOTHING_KNOWN } from '../reconcile/rule-states.ts';
import { createStatus } from './status.ts';

const start = () => {
  const clock = createManualClock();
  const fixture = {
    unknownKinds: [] as string[],
    changes: 0,
    information: undefined as Information | undefined,
    stateFolder: undefined as string | undefined,
  };
  const status = createStatus({
    driver: { name: 'ubus', unansweredSince: () => undefined },
    source: {
      unknownKinds: () => fixture.unknownKinds,
      unwatchedKinds: () => new Map([['FirewallRule', 'Forbidden: no']]),
    },
    information: () => fixture.information,
    otherReports: () => [],
    otherUnwatchedKinds: () => [],
    commentsLost: () => ['firewall'],
    fleet: () => ({ distance: 1 }),
    stateFolder: () => fixture.stateFolder,
    onChange: () => {
      fixture.changes += 1;
    },
    clock,
  });
  /** An attempt that begins and ends now. */
  const add = (attempt: Attempt): void =>
    status.addAttempt(attempt, { wall: clock.now(), monotonic: clock.monotonic() });
  return { clock, fixture, status, add };
};

const refused = { outcome: 'unanswered', message: 'connection refused' } as const;

describe('agent status', () => {
  it('is not ready before OpenWRT answered and a first pass is done, and names both', () => {
    const { add, status } = start();
    add(refused);
    expect([...status.notReady()]).toEqual([
      ['openwrt', 'connection refused'],
      ['first pass', 'connection refused'],
    ]);
    add({ outcome: 'unchanged' });
    expect([...status.notReady().keys()]).toEqual(['first pass']);
    add({ outcome: 'passed' });
    expect(status.notReady().size).toBe(0);
  });

  it('is not ready while a pod that has never been configured is paused, and says so', () => {
    const { add, status } = start();
    status.setStanding({ ...NOTHING_KNOWN, paused: true });
    add({ outcome: 'passed' });
    expect([...status.notReady()]).toEqual([['first pass', sentenceOf('Paused')]]);
    status.setStanding(NOTHING_KNOWN);
    add({ outcome: 'passed' });
    status.setStanding({ ...NOTHING_KNOWN, paused: true });
    add({ outcome: 'passed' });
    expect(status.notReady().size).toBe(0);
  });

  it('is not ready while it is not known which rules there are', () => {
    const { add, fixture, status } = start();
    add({ outcome: 'passed' });
    fixture.unknownKinds = ['Mwan3Rule'];
    expect([...status.notReady()]).toEqual([['rules', 'not listed yet: Mwan3Rule']]);
  });

  it('withdraws what was reported after five seconds without an answer, and readiness at the next look', () => {
    const { add, clock, fixture, status } = start();
    add({ outcome: 'passed' });
    // One pass may take long.
    clock.advance(60_000);
    add(refused);
    clock.advance(4_000);
    add(refused);
    expect(status.snapshot().openwrt.reachable).toBe(true);
    expect(status.notReady().size).toBe(0);
    const { changes } = fixture;
    clock.advance(1_000);
    expect(fixture.changes).toBe(changes + 1);
    expect(status.snapshot().openwrt).toMatchObject({
      reachable: false,
      message: 'connection refused',
    });
    add(refused);
    expect([...status.notReady().keys()]).toEqual(['openwrt']);
    add({ outcome: 'unchanged' });
    expect(status.notReady().size).toBe(0);
  });

  it('stays reachable when a pass does not get through, and says why', () => {
    const { add, status } = start();
    add({ outcome: 'passed' });
    add({ outcome: 'hindered', message: 'another apply is pending' });
    expect(status.snapshot().openwrt).toMatchObject({
      reachable: true,
      message: 'another apply is pending',
    });
    expect(status.notReady().size).toBe(0);
  });

  it('says why the state folder cannot be written, whichever part found it, until it can', () => {
    const { add, status, fixture } = start();
    add({ outcome: 'hindered', message: 'another apply is pending' });
    expect(status.snapshot().stateFolder).toBe('');
    add({ outcome: 'hindered', message: 'ledger.json: EROFS', stateFolder: true });
    expect(status.snapshot().stateFolder).toBe('ledger.json: EROFS');
    add({ outcome: 'passed' });
    expect(status.snapshot().stateFolder).toBe('');
    fixture.stateFolder = 'alive: ENOSPC';
    expect(status.snapshot().stateFolder).toBe('alive: ENOSPC');
  });

  it('says of sections of others that cannot be compared a few, in the same words whatever their order', () => {
    const { status } = start();
    const many = Array.from({ length: 99 }, (_, at) => `route_of_theirs_with_a_long_name_${at}`);
    const saying = (names: readonly string[]) => {
      const why = new Map(names.map((name) => [name, "option target 'x' ".repeat(60)]));
      status.setStanding({ ...NOTHING_KNOWN, unreadOthers: new Map([['network', why]]) });
      return status.snapshot().unreadOthers;
    };
    const said = saying(many);
    expect(said).toEqual([
      { package: 'network', sections: expect.stringMatching(/ and 94 more$/) },
    ]);
    expect(said?.map((each) => unreadOthersSchema.safeParse(each).success)).toEqual([true]);
    expect(saying(many.toReversed())).toEqual(said);
  });

  it('names the kinds that are not watched, and counts drift', () => {
    const { clock, status } = start();
    const at = clock.now();
    const section = { package: 'firewall', section: 'sdewan_rule_a', uid: 'uid-a' };
    status.addDrift([section]);
    expect(status.snapshot().drifts).toEqual([{ ...section, at }]);
    expect(status.snapshot().unwatchedKinds).toEqual(['FirewallRule']);
    expect(status.snapshot().openwrt.driftRepairs).toBe(1);
  });

  it('tells of the last 64 drifts', () => {
    const { clock, status } = start();
    const at = clock.now();
    const sections = Array.from({ length: 70 }, (_, index) => ({
      package: 'firewall',
      section: `sdewan_rule_${index}`,
      uid: `uid-${index}`,
    }));
    for (const section of sections) status.addDrift([section]);
    const last = sections.slice(-64).map((section) => ({ ...section, at }));
    expect(status.snapshot().drifts).toEqual(last);
  });

  it("lists what ICN's controller left beside the information about OpenWRT, within the same bounds", () => {
    const { fixture, status } = start();
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
    fixture.information = { interfaces: [], routes: [], tunnels: [], wans: [], leftOut: 1 };
    const { information } = status.snapshot();
    expect(informationSchema.safeParse(information).success).toBe(true);
    expect(information).toMatchObject({ leftOvers: { length: 32 }, leftOut: 9 });
    expect([...status.leftOvers()]).toEqual([
      ['firewall', 40],
      ['mwan3', 0],
    ]);
  });

  it('calls back when looks reach the next two seconds, which shows the coordinator that they followed the start of a container', () => {
    const { add, clock, fixture } = start();
    add({ outcome: 'passed' });
    const { changes } = fixture;
    const seen = Array.from({ length: 8 }, () => {
      clock.advance(500);
      add({ outcome: 'unchanged' });
      return fixture.changes - changes;
    });
    expect(seen).toEqual([0, 1, 1, 2, 2, 2, 2, 2]);
  });

  it('calls back for changes only', () => {
    const { add, fixture } = start();
    add({ outcome: 'passed' });
    const { changes } = fixture;
    add({ outcome: 'unchanged' });
    add({ outcome: 'unchanged' });
    expect(fixture.changes).toBe(changes);
  });
});
