/** What the coordinator's own work costs for 5,000 rules on 10 pods, without any API server. `node test/bench/coordinator-cpu.ts` */
import { ruleChecks } from '../../coordinator/admission/checks/list.ts';
import { findRefusals } from '../../coordinator/admission/decide.ts';
import {
  change,
  context as admissionContext,
  facts,
  rule as ruleObject,
  zone,
} from '../../coordinator/admission/testing/changes.ts';
import { tiesOf, tiesToLookUp } from '../../coordinator/admission/ties.ts';
import { filterOf } from '../../coordinator/memory/kept-rule.ts';
import { rollup } from '../../coordinator/verdict/rollup.ts';
import type { PodReport } from '../../coordinator/verdict/pod-report.ts';
import { Reports } from '../../coordinator/reports/reports.ts';
import { context, reportsOf, rule, target } from '../../coordinator/testing/facts.ts';
import { Index } from '#shared/kube/key-index.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { reportSchema, type Report } from '#shared/protocol/report.ts';

const RULES = 5_000;
const PAGE = 1_000;
const pods = Array.from({ length: 10 }, (_, index) => target(`cnf-1-${index}`));

const firewallRule = (name: string): RuleObject =>
  ruleObject('FirewallRule', name, { src: 'lan1', target: 'REJECT' });

const rules: Report['rules'] = Array.from({ length: RULES }, (_, index) => ({
  kind: 'FirewallRule',
  name: `rule-${index}`,
  uid: `0f0f0f0f-0000-4000-8000-${String(index).padStart(12, '0')}`,
  generation: 1,
  revision: 'a'.repeat(64),
  state: 'Applied',
  reason: 'Applied',
  message: '',
}));

const pagesOf = (podUid: string, sequence: number): Report[] =>
  Array.from({ length: RULES / PAGE }, (_, page) => ({
    version: 1,
    bootId: `boot-${podUid}`,
    sequence,
    page,
    pages: RULES / PAGE,
    purpose: 'cnf-1',
    openwrt: { reachable: true, driver: 'ubus', message: '', driftRepairs: 0 },
    unwatchedKinds: [],
    rules: rules.slice(page * PAGE, (page + 1) * PAGE),
  }));

const heartbeat = (podUid: string, sequence: number, repeats: number): Report => ({
  ...pagesOf(podUid, sequence)[0]!,
  pages: 1,
  rules: [],
  repeats,
});

const reports = new Reports({ silentAfterMs: 60_000 });
const now = () => ({ monotonic: performance.now(), wall: Date.now() });
const accept = (uid: string, report: Report) => reports.accept(uid, report, now());

/** The best of five: what the work costs when nothing else runs. */
const measure = (what: string, work: () => void): void => {
  const times = Array.from({ length: 5 }, () => {
    const start = performance.now();
    work();
    return performance.now() - start;
  });
  console.log(
    `${what.padEnd(60)} ${Math.min(...times)
      .toFixed(2)
      .padStart(9)} ms`,
  );
};

const bodies = pagesOf('any', 1).map((page) => JSON.stringify(page));
const bytes = bodies.reduce((sum, body) => sum + body.length, 0);
measure(`parse and check one full report (${Math.round(bytes / 1_024)} KiB)`, () => {
  for (const body of bodies) reportSchema.parse(JSON.parse(body));
});

let sequence = 0;
measure('take full reports of 10 pods, nothing new in them', () => {
  sequence += 1;
  for (const { uid } of pods) for (const page of pagesOf(uid, sequence)) accept(uid, page);
});

const base = sequence;
const beats = Array.from({ length: 1_000 }, (_, index) => index);
const beat = JSON.stringify(heartbeat('any', 1, 1));
measure('parse and check 1,000 heartbeats', () => {
  for (const _ of beats) reportSchema.parse(JSON.parse(beat));
});
measure('take 1,000 heartbeats', () => {
  for (const index of beats) {
    const uid = pods[index % pods.length]!.uid;
    sequence += 1;
    accept(uid, { ...beatOf(uid), sequence });
  }
});

const known = reportsOf(
  pods.map((pod): [typeof pod, PodReport | undefined] => [pod, reports.of(pod.uid)]),
);
const moment = context({ now: Date.now(), monotonic: performance.now() });
const subjects = rules.map(({ uid, name, generation, revision }) =>
  rule({ uid, name, generation, revision }),
);
measure('roll up 5,000 rules on 10 pods', () => {
  for (const subject of subjects) rollup(subject, pods, known, moment);
});

function beatOf(uid: string): Report {
  return heartbeat(uid, 0, base);
}

/** As the coordinator keeps rules for admission: `coordinator/rules/rules.ts`. */
const MANY = 10_000;
const CREATES = 1_000;
const index = new Index();
const objects = new Map(
  [
    zone('lan1'),
    ...Array.from({ length: MANY }, (_, number) => firewallRule(`rule-${number}`)),
  ].map((one) => [one.metadata.uid, one]),
);
for (const [uid, one] of objects) index.set(uid, tiesOf(one, filterOf(one)));
const tied = (ties: readonly string[]): RuleObject[] =>
  ties.flatMap((tie) => [...index.ids(tie)].flatMap((uid) => objects.get(uid) ?? []));
measure(`admission's checks on ${CREATES} creates, ${MANY} rules there`, () => {
  for (let number = 0; number < CREATES; number += 1) {
    const create = change({ after: firewallRule(`new-${number}`) });
    const seen = facts({ rules: tied(tiesToLookUp(create)) });
    if (findRefusals(ruleChecks, create, seen, admissionContext).length > 0)
      throw new Error('refused');
  }
});
