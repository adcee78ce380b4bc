/**
 * What the coordinator shows to Prometheus after a history that the test knows, and the alarms that
 * it sets off and ends.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { connectCluster } from 'kind-test-harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeObject, RuleObject } from '#shared/kube/objects.ts';
import { PURPOSE_LABEL, RULE_GROUP, RULE_VERSION } from '#shared/names.ts';
import type { Drift } from '#shared/protocol/report.ts';
import { alerts } from '../../../deploy/generate/metrics.ts';
import {
  documentedMetrics,
  NOTHING_UNDOCUMENTED,
  undocumented,
} from '../../openwrt/checks/documented-metrics.ts';
import {
  holds,
  NOTHING_SCRAPED,
  readScrape,
  valueIn,
  type Scrape,
} from '../../openwrt/checks/prometheus.ts';
import { installed } from '../../stack/installation.ts';
import { grantNeutron } from '../../stack/neutron-rights.ts';
import { until } from '../../stack/observe.ts';
import { FIRST_STATUS } from '../../stack/rules.ts';
import { witness, type Witness } from '../../stack/witness.ts';
import { connect, createAgent, post, type SimulatedAgent } from './agent.ts';
import { eventually } from '../support/eventually.ts';
import { createPod, createRunningPod, removePod } from './pods.ts';
import { createRule, deleteRule, statusOf } from './rules.ts';
import { createFixture, type Fixture } from './fixture.ts';

/**
 * However long the machine takes, the agent of most tests is not silent; that of one test shall be.
 */
const SILENT_NEVER_MS = 3_600_000;
const SILENT_SOON_MS = 4_000;
const DAY_MS = 86_400_000;
/** The ends of the paths of its webhooks. */
const WEBHOOK_TOKEN = '0123456789abcdef0123456789abcdef';

let fixture: Fixture;
let seen: Witness;
let pod: KubeObject;
let agent: SimulatedAgent;
let rule: RuleObject;
const cleanUp: (() => Promise<void>)[] = [];
/** That Prometheus' own engine says the same is shown by test/deploy/prometheus/alarms.test.ts. */
const firing = (scrapes: readonly Scrape[], now: number): string[] =>
  alerts()
    .filter(({ expr }) => holds(expr, scrapes, now / 1_000))
    .map(({ alert }) => alert);
/** Alarms that have fired, and that have cleared after that. */
const fired = new Set<string>();
const cleared = new Set<string>();

const scrape = (): Promise<Scrape> =>
  fetch(`${fixture.coordinator.httpUrl}/metrics`)
    .then(async (answer) => readScrape(await answer.text()))
    .catch(() => NOTHING_SCRAPED);

const value = async (name: string, labels: Record<string, string> = {}): Promise<number> =>
  valueIn(await scrape(), `sdewan_coordinator_${name}`, labels) ?? 0;

const fires = async (name: string, since?: Scrape): Promise<boolean> => {
  const last = await scrape();
  return firing(since ? [since, last] : [last], Date.now()).includes(name);
};

const setsOff = async (name: string, since?: Scrape): Promise<void> => {
  await eventually(() => fires(name, since)).toBe(true);
  fired.add(name);
};

const ends = async (
  name: string,
  since?: Scrape,
  atEachLook?: () => Promise<unknown>,
): Promise<void> => {
  expect(fired).toContain(name);
  await eventually(async () => {
    await atEachLook?.();
    return fires(name, since);
  }).toBe(false);
  cleared.add(name);
};

/** How often another status of a rule was written, as a watch saw it. */
const statusChanges = (): number => {
  const before = new Map<string, string>();
  return seen.sightings.filter(({ id, object }) => {
    if (!id.startsWith('FirewallRule/')) return false;
    const status = JSON.stringify(object && 'status' in object ? object.status : undefined);
    const changed =
      object !== undefined &&
      status !== undefined &&
      (before.get(id) ?? JSON.stringify(FIRST_STATUS)) !== status;
    before.set(id, status ?? '');
    return changed;
  }).length;
};

beforeAll(async () => {
  const cluster = await connectCluster();
  const folder = await mkdtemp(join(tmpdir(), 'metrics-'));
  cleanUp.push(() => rm(folder, { recursive: true }));
  const tokenFile = join(folder, 'token');
  await writeFile(tokenFile, WEBHOOK_TOKEN);
  fixture = await createFixture({
    silentAfterMs: SILENT_NEVER_MS,
    env: { SDEWAN_WEBHOOK_TOKEN_FILE: tokenFile },
    grants: await Promise.all(
      [
        ['Role', 'sdewan-coordinator-certificates'] as const,
        ['RoleBinding', 'sdewan-coordinator-certificates'] as const,
        ['ClusterRole', 'sdewan-coordinator-admission'] as const,
        ['ClusterRoleBinding', 'sdewan-coordinator-admission'] as const,
      ].map(([kind, name]) => installed(cluster, kind, name)),
    ),
  });
  cleanUp.push(fixture.close);
  // From then on every kind is served, so that it can be watched from here, too.
  await until('the coordinator is ready', async () => {
    const { ok } = await fetch(`${fixture.coordinator.httpUrl}/readyz`);
    return ok ? true : undefined;
  });
  seen = await witness(fixture.cluster, fixture.namespace);
  pod = await createRunningPod(fixture, { name: 'cnf-1-a' });
  agent = await createAgent(fixture, pod);
  cleanUp.push(agent.close);
});
afterAll(async () => {
  for (const end of cleanUp.reverse()) await end();
});

it('are those of the documentation, with the same help and labels', async () => {
  // This coordinator has its certificate from files, and talks to no OpenStack.
  const documented = documentedMetrics('Coordinator').filter(
    ({ name }) => !/expiry|openstack|neutron/.test(name),
  );
  expect(undocumented(await scrape(), documented)).toEqual(NOTHING_UNDOCUMENTED);
});

describe('rules and pods', () => {
  it('are counted by state', async () => {
    expect(await value('rules')).toBe(0);
    rule = await createRule(fixture, { name: 'a' });
    await createRule(fixture, { name: 'b', purpose: 'cnf-none' });
    await setsOff('SdewanRulesOutOfSync');
    await agent.says([rule, 'Applied']);
    await eventually(() => value('rules', { kind: 'FirewallRule', state: 'in_sync' })).toBe(1);
    expect(await value('rules', { kind: 'FirewallRule', state: 'out_of_sync' })).toBe(1);
    await deleteRule(fixture, 'b');
    await ends('SdewanRulesOutOfSync');
    await eventually(() => value('rules')).toBe(1);
  });

  it('made without the agent are counted as long as they are there', async () => {
    const bare = await createPod(fixture, { name: 'bare', purpose: 'cnf-2', agentServes: null });
    await setsOff('SdewanPodWithoutAgent');
    expect(await value('pods', { state: 'live' })).toBe(2);
    expect(await value('pods', { state: 'without_agent' })).toBe(1);
    await removePod(fixture, bare);
    await ends('SdewanPodWithoutAgent');
    expect(await value('pods', { state: 'live' })).toBe(1);
  });
});

it('changes nothing for a pod that comes, and one that goes', async () => {
  const since = await scrape();
  const next = await createRunningPod(fixture, { name: 'next' });
  const its = await createAgent(fixture, next);
  await its.says([rule, 'Applied']);
  await eventually(() => value('pods', { state: 'live' })).toBe(2);
  await eventually(() => value('rules', { state: 'in_sync' })).toBe(1);
  expect(firing([since, await scrape()], Date.now())).toEqual([]);
  await its.close();
  await removePod(fixture, next);
  await eventually(() => value('pods', { state: 'live' })).toBe(1);
  await eventually(() => value('rules', { state: 'in_sync' })).toBe(1);
  expect(firing([since, await scrape()], Date.now())).toEqual([]);
});

it('reports are counted by result, and each token is reviewed once', async () => {
  const before = await scrape();
  const results = async () => {
    const now = await scrape();
    const name = 'sdewan_coordinator_reports_total';
    return Object.fromEntries(
      now.samples
        .filter((sample) => sample.name === name)
        .map(({ labels, value: count }) => [
          labels['result'],
          count - (valueIn(before, name, labels) ?? 0),
        ])
        .filter(([, count]) => count !== 0),
    );
  };
  await agent.says([rule, 'Applied']);
  await agent.beats();
  agent.boots();
  await agent.beats();
  await agent.says([rule, 'Applied']);
  const many = Array.from(
    { length: 1_001 },
    (_, i) => [rule, 'Applied', { uid: `u${i}` }] as const,
  );
  await agent.says(...many);
  expect(await results()).toEqual({ heartbeat: 2, 'unknown-base': 1, news: 2, partial: 1 });

  const other = await createAgent(fixture, pod);
  await other.says([rule, 'Applied']);
  await agent.beats();
  await other.close();
  const dispatcher = connect(fixture);
  const { namespace, name } = pod.metadata;
  const refused = { namespace, pod: name, token: 'x.y.z', body: '{}' };
  const since = await scrape();
  await post(fixture, dispatcher, refused);
  const middle = await scrape();
  await post(fixture, dispatcher, refused);
  expect(await results()).toMatchObject({ news: 3, 'old-boot': 1, 'bad-token': 2 });
  expect(await fires('SdewanReportsRefused', since)).toBe(false);
  await setsOff('SdewanReportsRefused', middle);
  await ends('SdewanReportsRefused', await scrape());
  await dispatcher.destroy();
  const accepted = { result: 'accepted' };
  const earlier = valueIn(before, 'sdewan_coordinator_token_reviews_total', accepted) ?? 0;
  expect((await value('token_reviews_total', accepted)) - earlier).toBe(1);
  // Its conditions say that it is none.
  expect(await value('token_reviews_total', { result: 'bad-token' })).toBe(0);
  agent.boots();
  await agent.says([rule, 'Applied']);
});

it('makes one write of every change of a status', async () => {
  await eventually(() => statusOf(fixture, 'a')).toMatchObject({ inSync: true });
  await eventually(() => value('queued_rules')).toBe(0);
  await eventually(
    async () => (await value('status_writes_total', { result: 'written' })) - statusChanges(),
  ).toBe(0);
  expect(statusChanges()).toBeGreaterThan(2);
});

it('counts a status that cannot be written as an error each time, and its rule waits', async () => {
  await fixture.rights.without(async () => {
    await agent.says([rule, 'Failed', { reason: 'InvalidSpec', message: 'so it is' }]);
    await eventually(() => value('status_writes_total', { result: 'error' })).toBeGreaterThan(0);
    expect(await value('queued_rules')).toBe(1);
    const since = await scrape();
    await setsOff('SdewanStatusNotWritten', since);
  });
  await eventually(() => statusOf(fixture, 'a')).toMatchObject({ inSync: false });
  await eventually(() => value('queued_rules')).toBe(0);
  await ends('SdewanStatusNotWritten', await scrape());
  await setsOff('SdewanRulesOutOfSync');
  await agent.says([rule, 'Applied']);
  await ends('SdewanRulesOutOfSync');
});

it('raises an alarm for a rule that OpenWRT refuses until it is changed', async () => {
  await agent.says([rule, 'Failed', { reason: 'InvalidSpec', message: 'so it is' }]);
  await setsOff('SdewanRuleStalled');
  await agent.says([rule, 'Applied']);
  await ends('SdewanRuleStalled');
  expect(cleared).toContain('SdewanRuleStalled');
});

it('raises an alarm for an OpenWRT that does not answer until it does', async () => {
  await agent.misses('connection refused');
  await setsOff('SdewanOpenwrtUnreachable');
  await agent.says([rule, 'Applied']);
  await ends('SdewanOpenwrtUnreachable');
  expect(cleared).toContain('SdewanOpenwrtUnreachable');
});

it('drift that comes back is an alarm, and a few repairs are none', async () => {
  const drift = (at: number): Drift => ({ package: 'firewall', section: 'x', uid: 'u', at });
  const since = await scrape();
  // Else the first repairs would not be an increase.
  expect(valueIn(since, 'sdewan_coordinator_drift_repairs_total')).toBe(0);
  await agent.repaired(drift(1), drift(2), drift(3));
  await eventually(() => value('drift_repairs_total')).toBe(3);
  expect(await fires('SdewanDrift', since)).toBe(false);
  await agent.repaired(drift(2), drift(3), drift(4));
  await setsOff('SdewanDrift', since);
  await ends('SdewanDrift', await scrape());
  await agent.says([rule, 'Applied']);
});

it('raises an alarm for a webhook that cannot judge, and none for one that refuses', async () => {
  const dispatcher = connect(fixture);
  const review = async (): Promise<number> => {
    const { statusCode, body } = await request(
      `${fixture.coordinator.reportUrl}/admission/rules/${WEBHOOK_TOKEN}`,
      { method: 'POST', dispatcher, body: JSON.stringify(reviewOf(fixture.namespace)) },
    );
    await body.dump();
    return statusCode;
  };
  // Its zone is looked for on the API server, since it is not known yet.
  await eventually(review).toBe(200);
  await fixture.rights.without(async () => {
    await eventually(review).toBe(500);
    const since = await scrape();
    await eventually(review).toBe(500);
    await setsOff('SdewanWebhookFailing', since);
  });
  await eventually(review).toBe(200);
  const after = await scrape();
  expect(await review()).toBe(200);
  await ends('SdewanWebhookFailing', after);
  await dispatcher.destroy();
});

it('raises an alarm of its own for a missing coordinator, and the next one counts the pod again', async () => {
  await fixture.killCoordinator();
  await setsOff('SdewanCoordinatorAbsent');
  await fixture.startCoordinator({ SDEWAN_SILENT_AFTER_MS: String(SILENT_SOON_MS) });
  await ends('SdewanCoordinatorAbsent');
  agent.boots();
  await eventually(() => agent.says([rule, 'Applied'])).toMatchObject({ status: 200 });
  await eventually(() => value('pods', { state: 'live' })).toBe(1);
});

it('counts a removal that a silent agent blocks when it is over, with the time that it took', async () => {
  const before = await scrape();
  const grown = async (name: string): Promise<number> =>
    (await value(name)) - (valueIn(before, `sdewan_coordinator_${name}`) ?? 0);
  await deleteRule(fixture, 'a');
  const deletedAt = Date.now();
  await setsOff('SdewanRemovalBlocked');
  await setsOff('SdewanAgentSilent');
  expect(await value('pods', { state: 'silent' })).toBe(1);
  expect(await value('rules', { state: 'removing' })).toBe(1);
  expect(await grown('finalizers_removed_total')).toBe(0);
  const confirmedAt = Date.now();
  await agent.says([rule, 'Removed']);
  await ends('SdewanAgentSilent', undefined, agent.beats);
  await ends('SdewanRemovalBlocked');
  await eventually(() => grown('finalizers_removed_total')).toBe(1);
  expect(await grown('removal_seconds_count')).toBe(1);
  const took = await grown('removal_seconds_sum');
  // Times of deletion are in whole seconds.
  expect(took).toBeGreaterThanOrEqual((confirmedAt - deletedAt) / 1_000 - 1);
  expect(took).toBeLessThanOrEqual((seen.goneAt('FirewallRule/a') - deletedAt) / 1_000 + 2);
});

it('raises alarms for a certificate that ends within three days and a clouds.yaml that is not there, none for one of a month or without one', async () => {
  const { cluster, home } = fixture;
  const own = {
    SDEWAN_TLS_CERT_FILE: '',
    SDEWAN_TLS_KEY_FILE: '',
    SDEWAN_WEBHOOK_TOKEN_FILE: '',
    SDEWAN_WEBHOOK_CONFIGURATION: 'none-of-this-test',
  };
  // It gives up its Lease, so that the next one leads at once.
  await fixture.coordinator.stop('SIGTERM');
  await grantNeutron(cluster, home);
  await fixture.startCoordinator({
    ...own,
    SDEWAN_CERTIFICATE_LIFETIME_MS: String(2 * DAY_MS),
    SDEWAN_WATCH_NAMESPACE: '',
    SDEWAN_OPENSTACK_CLOUD_FILE: '/no/clouds.yaml',
  });
  await setsOff('SdewanCertificateEnds');
  await setsOff('SdewanNeutronFailing');
  await fixture.killCoordinator();
  await cluster.kubectl(['delete', 'secret', 'sdewan-coordinator-tls', '-n', home]);
  await fixture.startCoordinator(own);
  await ends('SdewanCertificateEnds');
  await ends('SdewanNeutronFailing');
});

it('raises and clears every alarm about the coordinator', () => {
  const all = alerts().filter(({ expr }) => expr.includes('sdewan_coordinator'));
  expect([...cleared].sort()).toEqual(all.map(({ alert }) => alert).sort());
});

/** Waits of a rule whose zone is not known. */
const reviewOf = (namespace: string): object => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: 'u',
    kind: { group: RULE_GROUP, version: RULE_VERSION, kind: 'FirewallRule' },
    resource: { group: RULE_GROUP, version: RULE_VERSION, resource: 'firewallrules' },
    operation: 'CREATE',
    namespace,
    name: 'of-a-review',
    userInfo: { username: 'somebody', groups: [] },
    object: {
      apiVersion: `${RULE_GROUP}/${RULE_VERSION}`,
      kind: 'FirewallRule',
      metadata: { name: 'of-a-review', namespace, labels: { [PURPOSE_LABEL]: 'cnf-1' } },
      spec: { src: 'nowhere', target: 'REJECT' },
    },
  },
});
