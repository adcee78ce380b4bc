import { beforeEach, describe, expect, it } from 'vitest';
import { reportSchema, ruleReportSchema, type Report } from '#shared/protocol/report.ts';
import { largestOf } from '#shared/protocol/testing.ts';
import { sentReport, cnfPod, word } from '../testing/facts.ts';
import {
  Allowance,
  MOST_OF_ALL,
  MOST_OF_A_NAMESPACE,
  MOST_OF_A_POD,
  MOST_UNKNOWN,
} from './memory-allowance.ts';

const rules = new Map([
  ['own', 'edge'],
  ['foreign', 'core'],
]);
let allowance: Allowance;
beforeEach(() => {
  allowance = new Allowance((uid) => rules.get(uid.split('-')[0] ?? ''));
});

const pod = cnfPod('cnf-1-a');
const young = cnfPod('cnf-1-y', { agent: { state: 'never-started', scheduled: true } });
/** Each has a thousand characters, more or less. */
const words = (uid: string, count: number) =>
  Array.from({ length: count }, (_, index) =>
    word({ uid: `${uid}-${index}`, message: 'x'.repeat(1_000) }),
  );
const take = (of: typeof pod, ...reports: Parameters<typeof sentReport>): number => {
  const { report, keep } = allowance.take(of, sentReport(...reports));
  keep(reports[0]?.page !== undefined && reports[0].page + 1 < (reports[0].pages ?? 1));
  return report.rules.length;
};
/** Bytes of the texts in it, of two-byte characters where they are such. */
function textsOf(value: unknown): number {
  if (typeof value === 'string') return value.startsWith('Ā') ? 2 * value.length : value.length;
  const values = typeof value === 'object' && value !== null ? Object.values(value) : [];
  return values.map(textsOf).reduce((one, other) => one + other, 0);
}
const codeOf = (attempt: () => unknown): string => {
  try {
    attempt();
    return 'taken';
  } catch (error) {
    return String(Object(error).code);
  }
};

const largest = largestOf(reportSchema);
/** With a kilobyte of texts and more, but the rules; what is gone is not kept. */
const FIELDS = (Object.keys(largest) as (keyof Report)[]).filter(
  (field) => !['rules', 'gone'].includes(field) && textsOf(largest[field]) >= 1_024,
);

describe('what is kept of a report', () => {
  it('is about rules of the pod’s namespace only', () => {
    expect(take(pod, { rules: [...words('own', 2), ...words('foreign', 3)] })).toBe(2);
    expect(allowance.isIncomplete(pod.uid)).toBe(false);
  });

  it('has only a few unknown rules, and is requested again when it had more', () => {
    const count = 2 * Math.ceil(MOST_UNKNOWN / 1_000);
    const kept = take(pod, { rules: words('unknown', count) });
    expect(kept * 1_000).toBeLessThan(MOST_UNKNOWN);
    expect(kept).toBeGreaterThan(50);
    expect(allowance.isIncomplete(pod.uid)).toBe(true);
    expect(take(pod, { sequence: 2, rules: words('own', 1) })).toBe(1);
    expect(allowance.isIncomplete(pod.uid)).toBe(false);
  });

  it('is bounded, all pages together', () => {
    const rest = { pages: 20, rules: words('own', 1_000) };
    const codes = Array.from({ length: 12 }, (_, page) =>
      codeOf(() => take(pod, { page, ...rest })),
    );
    expect(codes.filter((code) => code === 'taken').length * 1_000_000).toBeLessThan(MOST_OF_A_POD);
    expect(codes.at(-1)).toBe('too-much');
    expect(codeOf(() => take(pod, { sequence: 2, rules: words('own', 1_000) }))).toBe('taken');
  });

  it('counts beside what is there until all pages of the next are', () => {
    const rest = { pages: 7, rules: words('own', 1_000) };
    const pods = Array.from({ length: 6 }, (_, index) => cnfPod(`pod-${index}`));
    const codes = pods.map((of) =>
      codeOf(() => {
        for (let page = 0; page < 7; page += 1) take(of, { page, ...rest });
        take(of, { page: 0, sequence: 2, pages: 2, rules: words('own', 1) });
      }),
    );
    expect(codes.filter((code) => code === 'taken').length * 7_000_000).toBeLessThan(
      MOST_OF_A_NAMESPACE,
    );
    expect(codes.at(-1)).toBe('too-much');
  });

  it('is counted as memory has it', () => {
    const rules = words('own', 1_000).map((one) => ({ ...one, message: 'ā'.repeat(1_000) }));
    const codes = Array.from({ length: 5 }, (_, page) =>
      codeOf(() => take(pod, { page, pages: 20, rules })),
    );
    expect(codes).toEqual(['taken', 'taken', 'taken', 'too-much', 'too-much']);
  });

  it('has a rule once, however often a page has it', () => {
    const rules = [...words('own', 2), word({ uid: 'own-0', message: 'last' })];
    const { report } = allowance.take(pod, sentReport({ rules }));
    expect(report.rules.map(({ message }) => message.length)).toEqual([4, 1_000]);
  });

  it('has as many rules as fit with all of their fields at their limits', () => {
    const most = largestOf(ruleReportSchema);
    const rules = Array.from({ length: 1_000 }, (_, at) => ({ ...most, uid: `own-${at}` }));
    let taken = 0;
    for (let page = 0; page < 20; page += 1)
      taken += codeOf(() => take(pod, { page, pages: 20, rules })) === 'taken' ? 1 : 0;
    expect(taken).toBe(Math.floor(MOST_OF_A_POD / 1_000 / textsOf(most)));
  });

  it.each(FIELDS)('counts %s beside them, also in a heartbeat', (field) => {
    const said = { [field]: largest[field] };
    let taken = 0;
    const next = (): string => {
      const of = cnfPod(`pod-${taken}`);
      return codeOf(() => {
        take(of, {});
        take(of, { sequence: 2, repeats: 1, ...said });
      });
    };
    while (taken * textsOf(said) <= MOST_OF_A_NAMESPACE && next() === 'taken') taken += 1;
    expect(taken * textsOf(said)).toBeLessThanOrEqual(MOST_OF_A_NAMESPACE);
  });

  it('stays counted where it stays, and goes with the pod', () => {
    const { information, counters, drifts } = largest;
    const fill = (of: typeof pod): string =>
      codeOf(() => {
        take(of, { information, counters, drifts });
        take(of, { sequence: 2, repeats: 1 });
      });
    const pods = Array.from({ length: 100 }, (_, index) => cnfPod(`pod-${index}`));
    const taken = pods.filter((of) => fill(of) === 'taken');
    const bytes = textsOf([information, counters, drifts]);
    expect(taken.length * bytes).toBeLessThanOrEqual(MOST_OF_A_NAMESPACE);
    expect(taken.length * bytes).toBeGreaterThan(0.7 * MOST_OF_A_NAMESPACE);
    for (const { uid } of pods) allowance.forget(uid);
    expect(fill(pod)).toBe('taken');
  });

  it('is little before a kubelet has started the agent', () => {
    expect(codeOf(() => take(young, { rules: words('own', 10) }))).toBe('taken');
    const rules = words('own', 66);
    expect(codeOf(() => take(young, { sequence: 2, rules }))).toBe('too-much');
    const { information } = largest;
    expect(codeOf(() => take(young, { sequence: 2, information }))).toBe('too-much');
  });

  it('is bounded for each namespace, until its pods are gone', () => {
    const pods = Array.from({ length: 10 }, (_, index) => cnfPod(`pod-${index}`));
    const fill = (of: typeof pod): string =>
      codeOf(() => {
        for (let page = 0; page < 6; page += 1)
          take(of, { page, pages: 6, rules: words('own', 1_000) });
      });
    const codes = pods.map(fill);
    expect(codes.filter((code) => code === 'taken').length * 6_000_000).toBeLessThan(
      MOST_OF_A_NAMESPACE,
    );
    expect(codes.at(-1)).toBe('too-much');
    expect(codeOf(() => take({ ...pod, namespace: 'core' }, { rules: words('foreign', 9) }))).toBe(
      'taken',
    );
    for (const { uid } of pods) allowance.forget(uid);
    expect(fill(cnfPod('last'))).toBe('taken');
  });

  it('is bounded for all namespaces together, of which each has its share', () => {
    const every = new Allowance((uid) => /^own-(.*)-/.exec(uid)?.[1]);
    let kept = 0;
    const pushedOut: string[] = [];
    const fill = (namespace: string, pods: number): string =>
      codeOf(() => {
        for (let at = 0; at < pods; at += 1) {
          const rules = words(`own-${namespace}`, 1_000);
          const { keep } = every.take(
            cnfPod(`${namespace}-${at}`, { namespace }),
            sentReport({ rules }),
          );
          const gone = keep(false);
          kept += 1_000_000 * (1 - gone.length);
          pushedOut.push(...gone);
        }
      });
    const codes = Array.from({ length: 20 }, (_, at) => fill(`hostile${at}`, 33));
    expect(new Set(codes)).toEqual(new Set(['too-much']));
    expect(kept).toBeLessThanOrEqual(MOST_OF_ALL);
    expect(kept).toBeGreaterThan(0.7 * MOST_OF_ALL);
    expect(fill('small', 2)).toBe('taken');
    expect(pushedOut.some((uid) => uid.includes('small'))).toBe(false);
    for (let at = 0; at < 33; at += 1) every.forget(cnfPod(`hostile0-${at}`).uid);
    expect(fill('hostile0', 2)).toBe('taken');
  });
});
