/**
 * A dashboard for tests: rules, pods, Events and rights of users go in, answers to requests come
 * out. Its clock stands still until the test moves it.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { KubeError } from '#shared/kube/errors.ts';
import type { ResourceType, RuleObject } from '#shared/kube/objects.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import type { Information } from '#shared/protocol/information.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createManualClock, type ManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { knownPod } from '../controllers/cnf-status/testing.ts';
import type { CnfPod } from '../sources/cnf-pod.ts';
import { cnfPod } from '../testing/facts.ts';
import type { PodReport } from '../rule-status/pod-report.ts';
import { ruleOf } from '../sources/rule.ts';
import { createApp } from './app.ts';
import type { RecentEvent } from './latest-events.ts';
import { createExplain } from './explain.ts';
import { createFirewall } from './firewall-view.ts';
import { createShares } from './shares.ts';
import { createRuleReader } from './read-rules.ts';
import { createLive } from './live.ts';
import type { Access, SignedIn } from './viewer/reviews.ts';
import { createRights } from './viewer/rights.ts';
import { createSessions } from './viewer/sessions.ts';
import { Overview, type OverviewDeps } from './overview.ts';

export type Cluster = {
  rules: RuleObject[];
  pods: CnfPod[];
  reports: Map<string, PodReport>;
  events: RecentEvent[];
  /** By token. */
  users: Map<string, { user: SignedIn; endsAt: number | undefined }>;
  may: (user: string, access: Access) => boolean;
  notReady: string[];
  /** Annotation of its pods for Nodus. */
  networks: string;
  rollOuts: RuleObject[];
  /** By the clock, which is at the epoch otherwise. */
  now: string;
  /** What its agents have reported of WANs and tunnels. */
  information: Partial<Information>;
};

export const SILENT_AFTER_MS = 45_000;

export const podOf = (name: string, changes: Partial<CnfPod> = {}): CnfPod =>
  cnfPod(name, { namespace: 'default', ...changes });

export const dashboardOf = (given: Partial<Cluster>, { isSecure = false } = {}) => {
  const cluster: Cluster = {
    rules: [],
    pods: [],
    reports: new Map(),
    events: [],
    users: new Map([
      ['token-of-ann', { user: { username: 'ann', groups: [] }, endsAt: undefined }],
    ]),
    may: () => true,
    notReady: [],
    rollOuts: [],
    now: '',
    information: {},
    networks: '{"interface": [{"name": "ovn-net1", "interface": "net7"}]}',
    ...given,
  };
  const clock: ManualClock = createManualClock();
  if (cluster.now !== '') clock.advance(Date.parse(cluster.now));
  const asked: { user: string; access: Access }[] = [];
  const reviews = {
    identify: async (token: string) => cluster.users.get(token),
    mayList: async (user: SignedIn, access: Access) => {
      asked.push({ user: user.username, access });
      return cluster.may(user.username, access);
    },
  };
  const reported = {
    information: {
      interfaces: [],
      routes: [],
      wans: [],
      tunnels: [],
      leftOut: 0,
      ...given.information,
    },
    since: clock.now(),
    upSince: { get: () => Date.parse('2026-01-01T00:00:00Z') },
  };
  const podsOf = (namespace: string, purpose: string) =>
    cluster.pods.filter((pod) => pod.namespace === namespace && pod.purpose === purpose);
  const reportedPods = ({ namespace, purpose }: { namespace: string; purpose: string }) =>
    podsOf(namespace, purpose).map(({ name, uid, ready, notReady }) =>
      knownPod(name, {
        namespace,
        purpose,
        ip: undefined,
        ready,
        notReady,
        reported,
        problem: cluster.reports.has(uid) ? undefined : 'the agent has not reported yet',
      }),
    );
  const overview = new Overview({
    rules: [sourceOf(() => cluster.rules)],
    rollOuts: sourceOf(() => cluster.rollOuts),
    pods: {
      all: () => cluster.pods,
      placeOf: () => ({ node: undefined, ip: undefined, agentImage: 'sdewan-agent:1' }),
      ofPurpose: podsOf,
    },
    reportedPods,
    reportOf: (uid) => cluster.reports.get(uid),
    notReady: () => cluster.notReady,
    silentAfterMs: SILENT_AFTER_MS,
    clock,
  });
  const sessions = createSessions(clock);
  const stop = new AbortController();
  const live = createLive({
    version: () => overview.version,
    isOpen: sessions.isOpen,
    signal: stop.signal,
    clock,
    log: silentLogger,
  });
  const known = {
    reader: createRuleReader(readerOf(cluster)),
    reportedPods,
    networkAnnotations: () => [
      { namespace: 'default', nodus: cluster.networks, selections: undefined, status: undefined },
    ],
  };
  const deps = {
    overview,
    events: {
      latest: () => cluster.events,
      problem: () => '',
    },
    explain: createExplain(known),
    firewall: createFirewall(known),
    shares: createShares(known),
    rights: createRights(reviews, clock),
  };
  const app = createApp({ ...deps, reviews, sessions, live, isSecure, clock, log: silentLogger });

  const get = (path: string, cookie = ''): Promise<Response> =>
    Promise.resolve(app.request(path, { headers: { cookie } }));
  /** As `sdewan dashboard` and a browser do it. */
  const codeFor = async (token: string): Promise<string> => {
    const headers = { authorization: `Bearer ${token}` };
    const answer: unknown = await (await app.request('/codes', { method: 'POST', headers })).json();
    return typeof answer === 'object' && answer && 'code' in answer ? String(answer.code) : '';
  };
  const enter = (code: string, site = 'same-origin'): Promise<Response> => {
    const headers = {
      'sec-fetch-site': site,
      'content-type': 'application/x-www-form-urlencoded',
    };
    return Promise.resolve(
      app.request('/enter', { method: 'POST', headers, body: `code=${code}` }),
    );
  };
  const signIn = async (token = 'token-of-ann'): Promise<string> => {
    const entered = await enter(await codeFor(token));
    return entered.headers.get('set-cookie')?.split(';')[0] ?? '';
  };
  return { app, asked, clock, cluster, codeFor, deps, enter, get, live, signIn, stop, overview };
};

export const NO_RESOURCE: ResourceType = {
  group: '',
  version: '',
  plural: '',
  kind: '',
  // It is never read.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  schema: undefined as never,
};

const sourceOf = (all: () => readonly RuleObject[]): OverviewDeps['rollOuts'] => ({
  uids: () =>
    all()
      .map(({ metadata }) => metadata.uid)
      .values(),
  get: (uid) => {
    const object = all().find(({ metadata }) => metadata.uid === uid);
    return object && { resource: NO_RESOURCE, object, rule: ruleOf(object, 'r') };
  },
  uidsOfPurpose: (namespace, purpose) =>
    new Set(
      all()
        .filter(
          ({ metadata }) =>
            metadata.namespace === namespace && metadata.labels?.[PURPOSE_LABEL] === purpose,
        )
        .map(({ metadata }) => metadata.uid),
    ),
});

const readerOf = (cluster: Cluster): Pick<KubeClient, 'get' | 'list'> => {
  const reader = {
    get: async ({ kind }: ResourceType<object>, key: { namespace?: string; name: string }) => {
      const found = cluster.rules.find(
        ({ metadata, kind: of }) =>
          of === kind && metadata.name === key.name && metadata.namespace === key.namespace,
      );
      if (found) return found;
      throw new KubeError('get', 'not found', { status: 404, reason: 'NotFound' });
    },
    list: async ({ kind }: ResourceType<object>, options: { namespace: string }) => ({
      items: cluster.rules.filter(
        (rule) => rule.kind === kind && rule.metadata.namespace === options.namespace,
      ),
      resourceVersion: '1',
    }),
  };
  // Two methods, of one kind of objects.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return reader as unknown as Pick<KubeClient, 'get' | 'list'>;
};
