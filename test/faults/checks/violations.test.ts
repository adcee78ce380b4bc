import { describe, expect, it } from 'vitest';
import type { Word } from '../vocabulary.ts';
import { textsOf } from './sections.ts';
import { createTimeline } from './timeline.ts';
import { saidIn, violationsIn, type SaysInSync, type Still } from './violations.ts';
import type { RuleSighting, SeenPod, SeenRule } from './watch.ts';

const TEXT = "config rule 'sdewan_rule_a'\n\toption target 'DROP'\n";
const SPEC = { target: 'DROP' };
const ID = 'FirewallRule/a';
const word: Word = {
  kind: 'FirewallRule',
  plural: 'firewallrules',
  name: 'a',
  package: 'firewall',
  variants: [{ spec: SPEC, text: TEXT }],
};
const FINALIZER = 'sdewan.akraino.org/agents';

const pod = (more: Partial<SeenPod> = {}): SeenPod => ({
  uid: 'pod',
  name: 'pod',
  purpose: 'cnf-1',
  since: 0,
  terminatingSince: undefined,
  finishedSince: undefined,
  goneAt: undefined,
  ...more,
});

const rule = (inSync: boolean | undefined, finalizers = [FINALIZER]): SeenRule => ({
  id: ID,
  purpose: 'cnf-1',
  metadata: {
    name: 'a',
    uid: 'uid',
    resourceVersion: '',
    generation: 1,
    deletionTimestamp: undefined,
    finalizers,
    labels: {},
  },
  spec: SPEC,
  status: inSync === undefined ? undefined : { inSync, observedGeneration: 1 },
});

/** The device has the rule in force from 10,000 until 20,000. */
const timeline = createTimeline((name) => name.startsWith('sdewan_'));
for (const [ms, text] of [
  [5_000, ''],
  [10_000, TEXT],
  [20_000, ''],
] as const) {
  timeline.follow({ ms, event: 'write', package: 'firewall', text });
  timeline.follow({ ms, event: 'reload', service: 'firewall', ok: true });
}

const judge = (
  sightings: readonly RuleSighting[],
  {
    pods = [pod()],
    runs = true,
    said = new Map(),
    stoodStill = [],
    earlyMs,
  }: {
    pods?: readonly SeenPod[];
    runs?: boolean;
    said?: SaysInSync;
    stoodStill?: readonly Still[];
    earlyMs?: number;
  } = {},
): string[] =>
  violationsIn(
    sightings,
    {
      watch: { takeRules: () => [], pods: () => [...pods], specOf: () => SPEC },
      devices: { of: (uid) => (uid === 'pod' ? { timeline, ranAt: () => runs } : undefined) },
      wordOf: (id) => (id === ID ? word : undefined),
      stoodStill,
      earlyMs,
    },
    said,
  );
const sees = (at: number, now: SeenRule | undefined, before?: SeenRule): RuleSighting => ({
  at,
  id: ID,
  before,
  now,
});

it('has words that are there in the golden text', () => {
  expect(textsOf(TEXT)).toHaveLength(1);
});

describe('a finalizer that goes', () => {
  const gone = (at: number) => [sees(at, undefined, rule(undefined))];

  it('is early while a pod has the rule', () => {
    expect(judge(gone(15_000))).toEqual([expect.stringContaining('pod has sdewan_rule_a')]);
  });

  it('is early as well when the object stays for others', () => {
    expect(judge([sees(15_000, rule(undefined, ['others']), rule(undefined))])).toHaveLength(1);
  });

  it.each([
    ['once the device has it no more', 20_000, {}],
    ['when the pod is gone', 15_000, { pods: [pod({ goneAt: 14_000 })] }],
    ['when its containers have ended', 15_000, { pods: [pod({ finishedSince: 14_000 })] }],
    ['when its OpenWRT does not run', 15_000, { runs: false }],
  ])('is not %s', (_when, at, facts) => {
    expect(judge(gone(at), facts)).toEqual([]);
  });

  it('is early while a pod has it that is only terminating', () => {
    expect(judge(gone(15_000), { pods: [pod({ terminatingSince: 14_000 })] })).toHaveLength(1);
  });
});

describe('a status that says in sync', () => {
  it('is false before the device has it', () => {
    expect(judge([sees(9_000, rule(true), rule(false))])).toEqual([
      expect.stringContaining('newly in sync'),
    ]);
  });

  it('may come early by as much as a row allows, and no more', () => {
    const newly = (at: number): string[] =>
      judge([sees(at, rule(true), rule(false))], { earlyMs: 500 });
    expect(newly(9_500)).toEqual([]);
    expect(newly(9_499)).toHaveLength(1);
  });

  it('is true while the device has it', () => {
    expect(judge([sees(10_000, rule(true), rule(false))])).toEqual([]);
  });

  it('may stay for seven seconds, and is never newly written then', () => {
    const still = { ...rule(true), status: { inSync: true, observedGeneration: 1, message: 'x' } };
    const first = sees(15_000, rule(true), rule(false));
    expect(judge([first, sees(26_000, still, rule(true))])).toEqual([]);
    expect(judge([first, sees(28_500, still, rule(true))])).toHaveLength(1);
    expect(judge([sees(26_000, rule(true), rule(false))])).toHaveLength(1);
  });

  it('is not news where judgement began with it', () => {
    const said = saidIn([sees(25_000, rule(true))]);
    const still = { ...rule(true), status: { inSync: true, observedGeneration: 1, message: 'x' } };
    expect(judge([sees(26_000, still, rule(true))], { said })).toEqual([]);
    expect(judge([sees(28_500, still, rule(true))], { said })).toHaveLength(1);
  });

  it('is judged as of when the API server stood still, if it is written as soon as that goes on', () => {
    const written = (at: number) => [sees(at, rule(true), rule(false))];
    const from = (since: number): readonly Still[] => [[since, 30_000]];
    expect(judge(written(30_400), { stoodStill: from(19_000) })).toEqual([]);
    expect(judge(written(30_400), { stoodStill: from(9_000) })).toHaveLength(1);
    expect(judge(written(30_600), { stoodStill: from(19_000) })).toHaveLength(1);
  });

  it('may be about what a device has got since the API server has gone on', () => {
    const stoodStill: readonly Still[] = [[4_000, 9_900]];
    expect(judge([sees(10_300, rule(true), rule(false))], { stoodStill })).toEqual([]);
  });

  it('may be about an older generation, which the device no longer has', () => {
    const said = rule(true);
    const newer = { ...said, metadata: { ...said.metadata, generation: 2 } };
    expect(judge([sees(23_000, newer, rule(false))])).toEqual([]);
    expect(judge([sees(28_500, newer, rule(false))])).toHaveLength(1);
  });

  it('is false while a pod has no device yet, once it is known', () => {
    const fresh = (since: number) => [pod(), pod({ uid: 'other', name: 'other', since })];
    const said = [sees(15_000, rule(true), rule(false))];
    expect(judge(said, { pods: fresh(14_500) })).toEqual([]);
    expect(judge(said, { pods: fresh(13_000) })).toHaveLength(1);
  });

  it('does not count pods of another purpose, or on their way out', () => {
    const others = [
      pod(),
      pod({ uid: 'a', purpose: 'cnf-2' }),
      pod({ uid: 'b', terminatingSince: 1 }),
    ];
    expect(judge([sees(15_000, rule(true), rule(false))], { pods: others })).toEqual([]);
  });
});
