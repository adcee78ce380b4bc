import { describe, expect, it } from 'vitest';
import { ruleOf as objectOf } from '#shared/compile/testing.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { NOW, rule } from '../../../testing/facts.ts';
import { generatorStatus, type GeneratorFacts } from './status.ts';

const child = (name: string, status: object, generation = 1): RuleObject => ({
  ...objectOf('CNFNAT', name, {}, { generation }),
  status,
});
const inSync = { inSync: true, observedGeneration: 1 };

const statusOf = (changes: Partial<GeneratorFacts>) =>
  generatorStatus({
    parent: rule(),
    problem: undefined,
    total: 1,
    children: [child('a', inSync)],
    icn: {},
    now: NOW,
    ...changes,
  });

describe('a CR that makes others', () => {
  it('is in sync when all of them are made and in sync', () => {
    const status = statusOf({});
    expect(status).toMatchObject({ inSync: true, appliedGeneration: 2, state: 'In Sync' });
    expect(status.children).toEqual({ total: 1, applied: 1, summary: '1/1' });
  });

  it('is not while one is missing', () => {
    const status = statusOf({ total: 2 });
    expect(status).toMatchObject({ inSync: false, message: '1 of 2 generated' });
    expect(status.children?.summary).toBe('1/2');
  });

  it('is not while one has changed since it was in sync', () => {
    const status = statusOf({ children: [child('a', inSync, 2)] });
    expect(status).toMatchObject({ inSync: false, message: 'CNFNAT a: not yet in sync' });
    expect(status.conditions).toMatchObject([{ type: 'Ready', reason: 'ChildNotInSync' }]);
  });

  it('is stalled when one of them is', () => {
    const conditions = [
      {
        type: 'Stalled',
        status: 'True',
        reason: 'NameTaken',
        message: 'taken',
        observedGeneration: 1,
        lastTransitionTime: '2026-01-02T03:04:05Z',
      },
    ];
    const stalled = { inSync: false, observedGeneration: 1, message: 'taken', conditions };
    const status = statusOf({ children: [child('a', stalled)] });
    expect(status.message).toBe('CNFNAT a: taken');
    expect(status.conditions?.map(({ type }) => type)).toEqual(['Ready', 'Stalled']);
  });

  it('keeps the time since when it is in sync', () => {
    const before = statusOf({ now: NOW - 60_000 });
    const again = statusOf({ parent: rule({ status: before }) });
    expect(again.appliedTime).toBe(before.appliedTime);
    expect(again.conditions).toEqual(before.conditions);
  });
});
