/**
 * The parts of an agent from its watches to its reports, as `agent/agent.ts` puts them together, on
 * what a walk gives them.
 */
import { revisionOf } from '#shared/compile/revision.ts';
import type { LastGood } from '#shared/compile/types.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import type { Report, ReportAnswer } from '#shared/protocol/report.ts';
import { agentKinds } from '#shared/resources/registry.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import type { Driver } from '../../../agent/openwrt/driver.ts';
import { withoutCommitConfirm } from '../../../agent/commit-confirm/commit-confirm.ts';
import { createKernelDrift } from '../../../agent/reconcile/kernel-repair.ts';
import type { LedgerRecord } from '../../../agent/reconcile/ledger.ts';
import { createLoop } from '../../../agent/reconcile/loop.ts';
import { createPace } from '../../../agent/reconcile/pace.ts';
import { createPass } from '../../../agent/reconcile/pass.ts';
import { createRefusals } from '../../../agent/reconcile/refusals.ts';
import { NO_RESTART, NOTHING_RECORDED } from '../../../agent/reconcile/testing.ts';
import { createOrderCheck } from '../../../agent/report/answered-fields.ts';
import { createBoot } from '../../../agent/report/boot.ts';
import { createChangeLog } from '../../../agent/report/change-times.ts';
import { createCoordinators } from '../../../agent/report/coordinators.ts';
import { createPublisher } from '../../../agent/report/publish.ts';
import { createStatus } from '../../../agent/report/status.ts';
import { createRuleSource } from '../../../agent/inputs/rules.ts';
import { NAMESPACE } from './api-server.ts';
import type { Process } from './process.ts';
import { WORDS } from './vocabulary.ts';

/** The pod's emptyDir. */
export type StateFiles = { ledger: LedgerRecord; lastGood: LastGood };

export const emptyState = (): StateFiles => ({
  ledger: NOTHING_RECORDED,
  lastGood: new Map(),
});

export type AgentSurroundings = {
  process: Process;
  client: KubeClient;
  driver: Driver;
  state: StateFiles;
  purpose: string;
  /** Addresses of the coordinators. */
  resolve: () => Promise<readonly string[]>;
  post: (address: string, report: Report, others: number) => Promise<ReportAnswer>;
};

export const KINDS = agentKinds.filter(({ kind }) => WORDS.some((word) => word.kind === kind));

/** Whether it is ready. */
export const startAgent = (surroundings: AgentSurroundings): (() => boolean) => {
  const { process, client, driver, state, purpose } = surroundings;
  const { clock } = process;
  const { signal } = process.stopping;
  const log = silentLogger;
  const startedAt = clock.now();
  const source = createRuleSource({
    client,
    kinds: KINDS,
    leftOut: [],
    namespace: NAMESPACE,
    purpose,
    onChange: () => {
      loop.mark();
      publisher.mark();
    },
    clock,
    log,
  });
  const status = createStatus({
    driver,
    source,
    information: () => undefined,
    otherReports: () => [],
    otherUnwatchedKinds: () => [],
    commentsLost: () => [],
    fleet: () => ({}),
    stateFolder: () => undefined,
    onChange: () => publisher.mark(),
    clock,
  });
  const boot = createBoot();
  const isOrder = createOrderCheck(clock);
  let sequence = 0;
  const publisher = createCoordinators({
    urls: ['https://sdewan-coordinator:8443'],
    resolve: surroundings.resolve,
    clientOf: ({ url, others }) => ({
      post: (report) => surroundings.post(url.hostname, report, others()),
      wasApiServerAway: async () => false,
      close: () => undefined,
    }),
    publisherOf: (reportClient) =>
      createPublisher({
        changes: createChangeLog(clock),
        counters: () => undefined,
        snapshot: status.snapshot,
        client: reportClient,
        boot,
        startedAt,
        nextSequence: () => (sequence += 1),
        purpose,
        heartbeatMs: 10_000,
        clock,
        isOrder,
        onOrder: () => undefined,
        onCommentsReported: async () => undefined,
        onSent: () => undefined,
        log,
      }),
    clock,
    log,
  });
  const refusals = createRefusals(clock, revisionOf);
  const kernelDrift = createKernelDrift(clock);
  const pace = createPace(clock);
  const pass = createPass({
    driver,
    kinds: KINDS,
    commitConfirm: withoutCommitConfirm,
    ledger: {
      record: () => state.ledger,
      write: async (record) => {
        state.ledger = record;
      },
    },
    lastGood: {
      current: () => state.lastGood,
      replace: async (next) => {
        state.lastGood = next;
      },
    },
    refusals,
    kernelDrift,
    restart: NO_RESTART,
    pace,
    clock,
    onStanding: status.setStanding,
    onDrift: () => undefined,
    onKeptWrong: () => {
      throw new Error('a plan is another with all rules anew');
    },
    onTransaction: () => undefined,
  });
  const loop = createLoop({
    driver,
    pass,
    refusals,
    kernelDrift,
    pace,
    source,
    secrets: {
      follow: () => undefined,
      values: () => new Map(),
      unread: () => new Map(),
      unknown: () => [],
    },
    networks: () => ({
      networks: new Map([
        ['ovn-net1', 'net1'],
        ['ovn-net2', 'net2'],
      ]),
    }),
    devices: () => ({ defaultRoute: 'eth0', byAddress: new Map() }),
    place: () => ({ distance: 3, peers: new Map() }),
    onPlaced: () => undefined,
    paused: () => false,
    rescue: async () => {},
    onAttempt: status.addAttempt,
    timings: { probeIntervalMs: 1_000, fullPassIntervalMs: 300_000 },
    clock,
    log,
  });
  void source.run(signal);
  void loop.run(signal);
  void publisher.run(signal);
  void status.run(signal);
  return () => status.notReady().size === 0;
};
