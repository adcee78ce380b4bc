/** Mutated AdmissionReviews against all webhooks: always an answer that the API server can use. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import { kinds } from '#shared/resources/registry.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createAdmissionApp } from '../../../coordinator/admission/app.ts';
import {
  bucketChecks,
  ruleChecks,
  type ListedCheck,
} from '../../../coordinator/admission/checks/list.ts';
import type { CnfLookups } from '../../../coordinator/admission/cnf/lookups.ts';
import {
  createPodWebhook,
  createSecondCnfWebhook,
} from '../../../coordinator/admission/cnf/inject-agent.ts';
import {
  createWorkloadWebhook,
  labelTemplate,
} from '../../../coordinator/admission/cnf/workloads.ts';
import { addAgentsFinalizer, createRuleWebhook } from '../../../coordinator/admission/rules.ts';
import { requestOf, rule, fixtureOf } from '../../../coordinator/admission/testing/changes.ts';
import { coordinatorEnvSchema, injectOptionsOf } from '../../../coordinator/env.ts';
import { referencesIn, sampleOf } from '../../integration/admission/samples.ts';
import type { Random } from '../../run/random.ts';
import { mutated } from './mutate.ts';
import { CASES, count, grows, runRounds, TIMEOUT_MS, type Counts } from './rounds.ts';

const MANY = 10_000;

const counts: Counts = new Map();

/** The checks, counting how often each ran and refused. */
const counted = (checks: readonly ListedCheck[]): ListedCheck[] =>
  checks.map((listed) => ({
    ...listed,
    check: (...args) => {
      const refusal = listed.check(...args);
      count(counts, `check ${listed.name}: ${refusal ? 'refused' : 'passed'}`);
      return refusal;
    },
  }));

const rules = kinds.map((kind) => rule(kind.kind, 'there', sampleOf(kind)));
/** What the samples refer to. */
const targets = kinds.flatMap((user) =>
  referencesIn(user, sampleOf(user)).flatMap(({ kind, name }) => {
    const target = kinds.find((one) => one.kind === kind);
    return target ? [rule(kind, name, sampleOf(target))] : [];
  }),
);
const labelled = rules.map((one) => ({
  ...one,
  metadata: {
    ...one.metadata,
    name: 'fresh',
    labels: { ...one.metadata.labels, 'sdewan-bucket-type': 'basic' },
    annotations: { 'sdewan.akraino.org/order': '5', 'sdewan.akraino.org/references': 'warn' },
  },
}));
const fixture = fixtureOf({
  rules: [...rules, ...targets, rule('FirewallZone', 'a-b', sampleOf(firewallZone))],
  networks: new Set(['ovn-net1']),
  grants: [
    {
      role: 'Role editor',
      annotation: '{"firewall*": ["basic"]}',
      rules: [{ verbs: ['use'], apiGroups: ['*'], resources: ['buckettypes'] }],
    },
  ],
});
const lookups: CnfLookups = {
  cnfs: async () => [{ kind: 'Deployment', name: 'cnf-1' }],
  rootOf: async (_namespace, owner) => ({ ...owner, kind: 'Deployment', name: 'cnf-1' }),
  defaultReadsKeys: async () => false,
};
const defaults = injectOptionsOf(coordinatorEnvSchema.parse({}), 'sdewan-system');
const common = { defaults, lookups, announce: () => {}, log: silentLogger };
const rulesBy = (checks: readonly ListedCheck[]) =>
  createRuleWebhook({
    kinds,
    checks: counted(checks),
    bucketTypes: ['basic', 'app-intent', 'k8s-service'],
    referenceMode: 'deny',
    cached: () => fixture,
    live: fixture,
  });
const app = createAdmissionApp({
  webhooks: {
    rules: rulesBy(ruleChecks),
    buckets: rulesBy(bucketChecks),
    'rule-finalizers': (request) => addAgentsFinalizer(request, kinds),
    pods: createPodWebhook({
      ...common,
      keyKinds: ['IpsecSite'],
      gates: async () => true,
      portsGate: async () => ({ patch: [] }),
    }),
    'second-cnfs': createSecondCnfWebhook(common),
    workloads: createWorkloadWebhook({ ...common, keyKinds: ['IpsecSite'] }),
    'workload-labels': labelTemplate,
  },
  isGoodToken: (token) => token === 'token',
  clock: systemClock,
  onResult: (webhook, result) => count(counts, `webhook ${webhook}: ${result}`),
  log: silentLogger,
});

const review = (request: object): object => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request,
});

const workload = z
  .looseObject({
    spec: z.looseObject({ template: z.looseObject({ metadata: z.looseObject({}) }) }),
  })
  .parse(
    parse(readFileSync(join(import.meta.dirname, '../../deploy/manifests/seed-cnf.yaml'), 'utf8')),
  );
const pod = {
  ...workload.spec.template,
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    ...workload.spec.template.metadata,
    generateName: 'cnf-1-',
    annotations: { 'sdewan.akraino.org/agent-log-level': 'debug' },
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'u', controller: true },
    ],
  },
};
const ofOthers = (resource: string, operation: string, object: object): object => ({
  uid: 'review-1',
  resource: { group: resource === 'pods' ? '' : 'apps', version: 'v1', resource },
  name: 'cnf-1',
  namespace: 'edge',
  operation,
  userInfo: { username: 'anna', groups: ['system:authenticated'] },
  object,
  dryRun: false,
});

const ofRules = labelled.flatMap((after, index) => [
  requestOf(undefined, after),
  requestOf(rules[index], { ...after, metadata: { ...after.metadata, name: 'there' } }),
  requestOf(after, undefined),
]);
/** One that OpenWRT could not tell from another, and deletions of what is used. */
const disputed = [
  requestOf(undefined, rule('FirewallZone', 'a.b', sampleOf(firewallZone))),
  ...targets.map((target) => requestOf(target, undefined)),
];
const seeds: readonly (readonly [path: string, body: object])[] = [
  ...disputed.flatMap((request) => [
    ['rules', review(request)] as const,
    ['rules', review(request)] as const,
  ]),
  ...ofRules.flatMap((request) =>
    ['rules', 'buckets', 'rule-finalizers'].map((path) => [path, review(request)] as const),
  ),
  ...['pods', 'second-cnfs'].flatMap((path) =>
    Array.from({ length: 15 }, () => [path, review(ofOthers('pods', 'CREATE', pod))] as const),
  ),
  ...['CREATE', 'UPDATE'].flatMap((operation) =>
    Array.from({ length: 10 }, () => [
      ['workloads', review(ofOthers('deployments', operation, workload))] as const,
      ['workload-labels', review(ofOthers('deployments', operation, workload))] as const,
    ]).flat(),
  ),
];
const donors = seeds.map(([, body]) => body);

const answerSchema = z.object({
  response: z.object({
    uid: z.string().min(1),
    allowed: z.boolean(),
    patch: z.base64().optional(),
    status: z.object({ code: z.int(), reason: z.string(), message: z.string().min(1) }).optional(),
  }),
});

const once = async (random: Random): Promise<string | undefined> => {
  const [path, seed] = random.pick(seeds);
  const body = mutated(seed, donors, random);
  const answer = await app.request(`/admission/${path}/token`, { method: 'POST', body });
  const text = await answer.text();
  if (answer.status === 400) return undefined;
  const parsed = answer.status === 200 && answerSchema.safeParse(JSON.parse(text)).success;
  return parsed ? undefined : `${path} ${answer.status} ${text.slice(0, 500)}\n${body}`;
};

it(`answers each of ${CASES} mutated reviews`, { timeout: TIMEOUT_MS }, async () => {
  const rounds = await runRounds('AdmissionReviews', counts, once);
  expect(grows(rounds)).toBe(false);
  // Few cases reach every check, many also make each refuse.
  const wanted = CASES >= MANY ? ['passed', 'refused'] : ['passed'];
  const reached = [...ruleChecks, ...bucketChecks].flatMap(({ name }) =>
    wanted.map((outcome) => `check ${name}: ${outcome}`),
  );
  expect(reached.filter((what) => !counts.has(what))).toEqual([]);
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
});
