/**
 * The dashboard as one piece, without a server: a read-only view of what the coordinator knows, for
 * users that the API server lets list it.
 */
import type { HttpBindings } from '@hono/node-server';
import type { KubeClient } from '#shared/kube/client.ts';
import { kinds } from '#shared/resources/registry.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import type { CnfPods } from '../sources/cnf-pods.ts';
import { Rules } from '../sources/rules.ts';
import { createApp } from './app.ts';
import { createEventsSeen } from './events-seen.ts';
import { createExplain } from './explain.ts';
import { createFirewall } from './firewall-view.ts';
import { createLive } from './live.ts';
import { createRuleReader } from './read-rules.ts';
import { createRollOuts } from './roll-outs.ts';
import { createShares } from './shares.ts';
import { createReviews } from './viewer/reviews.ts';
import { createRights } from './viewer/rights.ts';
import { createSessions } from './viewer/sessions.ts';
import { Overview, type OverviewDeps } from './overview.ts';

export type DashboardOptions = {
  client: KubeClient;
  /** The only one to look after; undefined: all. */
  namespace: string | undefined;
  sources: {
    /** Rules of kinds that agents apply. */
    rules: Pick<Rules, 'get' | 'uids' | 'uidsOfPurpose'>;
    pods: Pick<CnfPods, 'all' | 'ofPurpose' | 'placeOf' | 'networkAnnotations'>;
    reportedPods: OverviewDeps['reportedPods'];
    reportOf: OverviewDeps['reportOf'];
  };
  notReady: () => readonly string[];
  silentAfterMs: number;
  /** Browsers come by TLS. */
  isSecure: boolean;
  clock: Clock;
  log: Logger;
};

export type Dashboard = {
  fetch: (request: Request, connection: HttpBindings) => Response | Promise<Response>;
  /** Something has changed. */
  mark: () => void;
  run: (signal: AbortSignal) => Promise<void>;
};

export const createDashboard = (options: DashboardOptions): Dashboard => {
  const { client, clock, log, namespace, sources } = options;
  const watched = { client, namespace, onChange: () => overview.mark(), clock, log };
  /** Those that only make others, which agents do not apply. */
  const makers = new Rules({
    ...watched,
    kinds: kinds.filter(({ uci }) => uci === undefined),
    revisionOf: () => '',
    isRead: () => false,
  });
  const rollOuts = createRollOuts(watched);
  const overview = new Overview({
    ...sources,
    rollOuts,
    rules: [sources.rules, makers],
    notReady: () => [...options.notReady(), ...makers.unknown.keys()],
    silentAfterMs: options.silentAfterMs,
    clock,
  });
  const events = createEventsSeen({ ...watched, component: 'sdewan-coordinator' });
  const reviews = createReviews(client);
  const sessions = createSessions(clock);
  const stopped = new AbortController();
  const live = createLive({
    version: () => overview.version,
    isOpen: sessions.isOpen,
    signal: stopped.signal,
    clock,
    log,
  });
  const known = {
    reader: createRuleReader(client),
    reportedPods: sources.reportedPods,
    networkAnnotations: (...of: Parameters<CnfPods['networkAnnotations']>) =>
      sources.pods.networkAnnotations(...of),
  };
  const app = createApp({
    overview,
    events,
    explain: createExplain(known),
    firewall: createFirewall(known),
    shares: createShares(known),
    reviews,
    rights: createRights(reviews, clock),
    sessions,
    live,
    isSecure: options.isSecure,
    clock,
    log,
  });

  return {
    fetch: (request, connection) => app.fetch(request, connection),
    mark: () => overview.mark(),
    run: async (signal) => {
      signal.addEventListener('abort', () => stopped.abort(signal.reason), { once: true });
      await Promise.all([makers.run(signal), rollOuts.run(signal), events.run(signal)]);
    },
  };
};
