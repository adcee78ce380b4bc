/**
 * Mutated reports against the intake: always an answer, and no more kept than the limit for one
 * pod.
 */
import { expect, it } from 'vitest';
import { kinds } from '#shared/resources/registry.ts';
import type { Counters } from '#shared/protocol/counters.ts';
import { ruleStates, type Report } from '#shared/protocol/report.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { deviceCountersIn } from '../../../agent/report/counters.ts';
import { Allowance } from '../../../coordinator/reports/memory-allowance.ts';
import { createIntake } from '../../../coordinator/reports/intake.ts';
import { Refusal } from '../../../coordinator/reports/refusal-codes.ts';
import { Reports } from '../../../coordinator/reports/reports.ts';
import { sentReport, cnfPod, tokenSaying } from '../../../coordinator/testing/facts.ts';
import type { Random } from '../../run/random.ts';
import { mutated } from './mutate.ts';
import { CASES, count, grows, runRounds, TIMEOUT_MS, type Counts } from './rounds.ts';

const counts: Counts = new Map();
const PODS = 20;
const pods = Array.from({ length: PODS }, (_, index) => cnfPod(`cnf-1-${index}`));
const reports = new Reports({ silentAfterMs: 60_000 });
const app = createIntake({
  reviewer: {
    review: async (token) => {
      const pod = pods.find((one) => tokenSaying(one) === token);
      if (!pod) throw new Refusal('bad-token');
      return { namespace: pod.namespace, pod: pod.name, podUid: pod.uid };
    },
  },
  pods: {
    byName: (_namespace, name) => pods.find((pod) => pod.name === name),
    lookAt: async () => {
      throw new Error('the API server is not reached');
    },
  },
  looks: { take: () => true },
  rate: { take: () => true },
  allowance: new Allowance(() => undefined),
  reports,
  epoch: 'epoch-1',
  term: () => 1,
  orderFor: () => undefined,
  wasApiServerAway: () => false,
  isReady: () => true,
  onReport: () => {},
  onPushedOut: () => undefined,
  onInformation: () => undefined,
  onCounters: () => undefined,
  onCommentsLost: () => undefined,
  onTimes: () => undefined,
  onStateFolder: () => undefined,
  onUnreadOthers: () => undefined,
  onResult: (result) => count(counts, result),
  clock: systemClock,
  log: silentLogger,
});

const report = (some: Partial<Report>): Report =>
  sentReport({
    unwatchedKinds: ['IpsecSite'],
    rules: kinds.map(({ kind }, index) => ({
      kind,
      name: `rule-${index}`,
      uid: `uid-${index}`,
      generation: 1,
      revision: 'abc',
      state: ruleStates[index % ruleStates.length] ?? 'Applied',
      reason: 'Applied',
      message: 'on OpenWRT',
    })),
    ...some,
  });

/** As agents report: boots come and go, sequences grow, large reports have pages. */
const seedOf = (random: Random, index: number): Report => {
  const shape = random.int(3);
  const bootId = `boot-${String(Math.floor(index / (10 * PODS))).padStart(5, '0')}`;
  const sequence = index * 2;
  if (shape === 0) return report({ bootId, sequence, pages: 3, page: random.int(3) });
  if (shape === 1) return report({ bootId, sequence, repeats: sequence - PODS * 2, rules: [] });
  return report({ bootId, sequence });
};
const counters: Counters = {
  interfaces: deviceCountersIn('eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16'),
  denied: [{ policy: 'edge/web', direction: 'ingress', packets: 1 }],
};
const donors = [report({ counters }), report({ pages: 2 }), report({ repeats: 1, rules: [] })];

const once = async (random: Random, index: number): Promise<string | undefined> => {
  const of = pods[index % PODS] ?? cnfPod('none');
  const pod = of.name;
  const body = mutated(seedOf(random, index), donors, random);
  const inPath =
    random.next() < 0.98 ? pod : random.pick(['%2e%2e', 'x'.repeat(300), '%00', 'a/b']);
  const token =
    random.next() < 0.98
      ? `Bearer ${tokenSaying(of)}`
      : random.pick(['', 'Bearer', 'Basic x', 'Bearer y']);
  const answer = await app.request(`/v1/namespaces/edge/pods/${inPath}/report`, {
    method: 'POST',
    headers: { authorization: token, 'content-type': 'application/json' },
    body,
  });
  const text = await answer.text();
  const told: unknown = JSON.parse(text);
  const isAnswer =
    typeof told === 'object' && told !== null && ('epoch' in told || 'error' in told);
  return isAnswer && answer.status !== 503 ? undefined : `${answer.status} ${text}\n${body}`;
};

it(`answers each of ${CASES} mutated reports`, { timeout: TIMEOUT_MS }, async () => {
  const rounds = await runRounds('reports', counts, once);
  expect(grows(rounds)).toBe(false);
  expect(reports.size).toBeLessThanOrEqual(PODS);
  const reached = ['news', 'partial', 'bad-report', 'not-json', 'no-token'];
  expect(reached.filter((what) => !counts.has(what))).toEqual([]);
});
