import { describe, expect, it } from 'vitest';
import type { CnfFacts } from './mirror/facts.ts';
import { canStay, healthStep, type HealthFacts } from './replacement.ts';
import { cnfFacts, missing } from './testing/facts.ts';

const MINUTE = 60_000;
const NOW = 100 * MINUTE;
const stepOf = (pods: readonly CnfFacts[], changes: Partial<HealthFacts> = {}) =>
  healthStep({
    now: NOW,
    createMs: 10 * MINUTE,
    healthMs: 5 * MINUTE,
    replicas: pods.length,
    pods,
    current: 'old',
    atRest: true,
    agents: { heard: 5, known: 5 },
    ...changes,
  });

const starting = (name: string, ageMs: number): CnfFacts =>
  cnfFacts(name, {
    createdAt: NOW - ageMs,
    startsAt: NOW - ageMs,
    ready: false,
    containersReady: false,
    provisioned: false,
    link: 'Silent',
    notReady: 'container openwrt is not ready (ImagePullBackOff)',
    notReadySince: NOW - ageMs,
  });
const silent = (name: string, forMs: number, changes: Partial<CnfFacts> = {}): CnfFacts =>
  cnfFacts(name, { link: 'Silent', silentSince: NOW - forMs, ...changes });
const crashed = (name: string, forMs: number): CnfFacts =>
  cnfFacts(name, {
    ready: false,
    containersReady: false,
    notReadySince: NOW - forMs,
    notReady: 'container openwrt is not ready (CrashLoopBackOff)',
  });

describe('spec.createTimeout', () => {
  it('is counted from the creation of the pod, and due exactly then', () => {
    expect(stepOf([cnfFacts('old-1'), starting('old-2', 4 * MINUTE)])).toEqual({
      lookAt: NOW + 6 * MINUTE,
    });
    expect(stepOf([cnfFacts('old-1'), starting('old-2', 10 * MINUTE)]).replace).toMatchObject({
      pod: 'old-2',
      uid: 'uid-old-2',
      why: expect.stringContaining('ImagePullBackOff'),
    });
  });

  it('is not counted while the pod waits for addresses', () => {
    const waiting = { ...starting('old-2', 99 * MINUTE), startsAt: undefined };
    expect(stepOf([cnfFacts('old-1'), waiting])).toEqual({ lookAt: undefined });
  });

  it('is for ever with 0s', () => {
    expect(stepOf([starting('old-1', 99 * MINUTE)], { createMs: 0 })).toEqual({
      lookAt: undefined,
    });
  });

  it('does not count what a new coordinator cannot know yet', () => {
    const pod = { ...starting('old-2', 99 * MINUTE), link: 'Unknown' as const };
    expect(stepOf([cnfFacts('old-1'), pod])).toEqual({ lookAt: undefined });
  });
});

describe('spec.healthTimeout', () => {
  it('is counted from the last report, and due exactly then', () => {
    expect(stepOf([cnfFacts('old-1'), silent('old-2', 2 * MINUTE)])).toEqual({
      lookAt: NOW + 3 * MINUTE,
    });
    expect(stepOf([cnfFacts('old-1'), silent('old-2', 5 * MINUTE)]).replace).toMatchObject({
      pod: 'old-2',
      why: 'for longer than spec.healthTimeout: its agent does not report',
    });
  });

  it('is counted from when the containers were not ready any more', () => {
    expect(stepOf([cnfFacts('old-1'), crashed('old-2', 5 * MINUTE)]).replace?.why).toContain(
      'CrashLoopBackOff',
    );
  });

  it('is for ever with 0s', () => {
    expect(stepOf([cnfFacts('old-1'), silent('old-2', 99 * MINUTE)], { healthMs: 0 })).toEqual({
      lookAt: undefined,
    });
  });
});

describe('a replacement', () => {
  it('is of one pod at a time, that which is overdue for longest', () => {
    const pods = [cnfFacts('old-1'), crashed('old-2', 6 * MINUTE), crashed('old-3', 9 * MINUTE)];
    expect(stepOf(pods).replace?.pod).toBe('old-3');
  });

  it('waits until the one before runs', () => {
    const pods = [cnfFacts('old-1'), crashed('old-2', 9 * MINUTE), starting('old-3', MINUTE)];
    expect(stepOf(pods)).toEqual({ lookAt: NOW + 9 * MINUTE });
    const few = [cnfFacts('old-1'), crashed('old-2', 9 * MINUTE)];
    expect(stepOf(few, { replicas: 3 })).toEqual({ lookAt: undefined });
  });

  it('is not of the last pod that could serve: its set is made anew', () => {
    const pods = [silent('old-1', 9 * MINUTE), crashed('old-2', MINUTE)];
    const step = stepOf(pods);
    expect(step.replace).toBeUndefined();
    expect(step.renew).toMatchObject({ pod: 'old-1', uid: 'uid-old-1' });
    const ill = [silent('old-1', 9 * MINUTE), cnfFacts('old-2', { missing: missing('rule') })];
    expect(stepOf(ill).renew?.pod).toBe('old-1');
    expect(stepOf(pods, { atRest: false })).toEqual({ lookAt: NOW + 4 * MINUTE });
  });

  it('is of a lone pod that does not serve', () => {
    expect(stepOf([crashed('old-1', 9 * MINUTE)]).replace?.pod).toBe('old-1');
  });

  it.each([
    [1, 3, true],
    [2, 4, false],
    [0, 0, false],
  ])('waits with agents of %i of %i namespaces heard: %s', (heard, known, isHeld) => {
    const step = stepOf([cnfFacts('old-1'), silent('old-2', 9 * MINUTE)], {
      agents: { heard, known },
    });
    expect(step.replace === undefined).toBe(isHeld);
    expect(step.held).toBe(
      isHeld
        ? 'old-2 is not replaced while agents of only 1 of 3 namespaces report: for longer than spec.healthTimeout: its agent does not report'
        : undefined,
    );
  });
});

describe('a node that is cordoned', () => {
  const there = (name: string, changes: Partial<CnfFacts> = {}) =>
    cnfFacts(name, { node: 'node-2', leaving: true, ...changes });

  it('has the set made anew where no other pod of it could serve', () => {
    expect(stepOf([there('old-1')]).renew).toEqual({
      pod: 'old-1',
      uid: 'uid-old-1',
      why: 'it is on a node that is cordoned: node-2',
    });
    const silentOne = cnfFacts('old-2', { link: 'Silent' });
    expect(stepOf([there('old-1'), silentOne]).renew?.pod).toBe('old-1');
  });

  it('changes nothing where another one can', () => {
    expect(stepOf([there('old-1'), cnfFacts('old-2')])).toEqual({
      lookAt: undefined,
    });
  });

  it('changes nothing while a roll-out is under way, or of a set that does not serve', () => {
    expect(stepOf([there('old-1')], { atRest: false }).renew).toBeUndefined();
    expect(stepOf([cnfFacts('old-1'), there('new-1')]).renew).toBeUndefined();
  });
});

it.each<[string, Partial<CnfFacts>, boolean]>([
  ['a pod that is well can stay', {}, true],
  ['one on a cordoned node cannot', { leaving: true }, false],
  ['one that is silent cannot', { link: 'Silent' }, false],
  ['one that is not ready cannot', { notReadySince: NOW }, false],
])('%s', (_, changes, expected) => {
  const pods = [cnfFacts('old-1', changes)];
  expect(canStay('uid-old-1', pods)).toBe(expected);
});

it('leaves a pod away that is gone', () => {
  expect(canStay('uid-old-1', [])).toBe(true);
});
