/**
 * Puts the agent together: which part notifies which. Everything from outside comes as options, so
 * that tests run several.
 */
import { join } from 'node:path';
import { revisionOf } from '#shared/compile/revision.ts';
import { LEDGER_FILE } from '#shared/inject/state-directory.ts';
import { POLICY_TABLE } from '#shared/policy/nft-table.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import { createClientCounter } from '#shared/kube/figures.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { createMetricsRegistry } from '#shared/metrics/registry.ts';
import { isOnLoopback, type AgentEnv } from './env.ts';
import { createProbeFiles } from './server/probe-files.ts';
import { serveHttp } from './server/metrics-server.ts';
import { openDistance } from './inputs/distance.ts';
import { openRestart } from './inputs/restart.ts';
import { createInspection } from './server/inspection.ts';
import { serveInspection } from './server/inspection-server.ts';
import type { RunningHttp } from './server/serve.ts';
import { VERSION } from '#shared/own-version.ts';
import { createAgentMetrics } from './metrics.ts';
import type { Driver } from './openwrt/driver.ts';
import { createCommitConfirm, withoutCommitConfirm } from './commit-confirm/commit-confirm.ts';
import { openRecord } from './commit-confirm/record.ts';
import { coordinatorAt, createTargets, type Target } from './commit-confirm/reachability.ts';
import { createKernelDrift } from './reconcile/kernel-repair.ts';
import { openLedger } from './reconcile/ledger.ts';
import { openLastGood } from './reconcile/last-good.ts';
import { createLoop, type Attempt } from './reconcile/loop.ts';
import { createPace } from './reconcile/pace.ts';
import { createPass } from './reconcile/pass.ts';
import { createDenials } from './network-policy/denials.ts';
import { createPolicyLoop } from './network-policy/loop.ts';
import { createPolicySource } from './network-policy/source.ts';
import { createRefusals } from './reconcile/refusals.ts';
import { leftOverLogger } from './report/left-overs.ts';
import { createReportClient } from './report/client.ts';
import { createBoot } from './report/boot.ts';
import { createChangeLog } from './report/change-times.ts';
import { createCoordinators, resolveHost } from './report/coordinators.ts';
import { createOrderCheck } from './report/answered-fields.ts';
import { createCountersSource, readDeviceCounters } from './report/counters.ts';
import { createInformationSource } from './report/information.ts';
import { createPublisher } from './report/publish.ts';
import { createStatus } from './report/status.ts';
import { followDevices } from './inputs/devices.ts';
import { followNetworks } from './inputs/networks.ts';
import { followPaused } from './inputs/paused.ts';
import { createRuleSource } from './inputs/rules.ts';
import { createSecretSource } from './inputs/secrets.ts';

export type AgentOptions = {
  env: AgentEnv;
  kinds: readonly KindDefinition[];
  kube: KubeClient;
  driver: Driver;
  /** No rule may cut the agent off from it. */
  apiServer: Target;
  clock: Clock;
  log: Logger;
};

const COMMIT_CONFIRM_FILE = 'commit-confirm.json';
const LAST_GOOD_FILE = 'last-good.json';
const DISTANCE_FILE = 'distance.json';
const RESTART_FILE = 'restart.json';

/** In figures and reports of drift, beside the packages. */
const POLICIES = 'policies';

/** Runs until the signal aborts and every part has ended. Rules stay on OpenWRT. */
// It only wires: each part names what it notifies.
// oxlint-disable-next-line max-lines-per-function
export const runAgent = async (options: AgentOptions, signal: AbortSignal): Promise<void> => {
  const { env, driver, clock, log } = options;
  const startedAt = clock.now();
  const inStateDir = (file: string): string => join(env.SDEWAN_STATE_DIR, file);
  const probeFiles = await createProbeFiles({ directory: env.SDEWAN_STATE_DIR, clock, log });
  const lastGood = await openLastGood(inStateDir(LAST_GOOD_FILE), log);
  const hasPast = lastGood.current().size > 0;
  const ledger = await openLedger(inStateDir(LEDGER_FILE), log, { hasPast });
  const distance = await openDistance({
    file: inStateDir(DISTANCE_FILE),
    isUsed: () =>
      paused() ||
      source.unknownKinds().length > 0 ||
      source.rules().some(({ kind }) => placed.has(kind)),
    onOrder: () => loop.mark(),
    onInForce: () => publisher.mark(),
    log,
  });
  const restart = await openRestart({
    file: inStateDir(RESTART_FILE),
    paused: () => paused(),
    onOrder: () => loop.mark(),
    onServed: ({ service, done }) => {
      if (done) metrics.restarts.inc({ service });
      publisher.mark();
    },
    clock,
    log,
  });
  const kinds = options.kinds.filter(({ uci }) => uci !== undefined);
  const placed = new Set(kinds.flatMap(({ kind, uci }) => (uci?.usesPlace ? [kind] : [])));
  const registry = createMetricsRegistry();
  const kube = createClientCounter(registry)(options.kube);
  const changes = createChangeLog(clock);

  const source = createRuleSource({
    client: kube,
    kinds,
    leftOut: env.SDEWAN_WITHOUT_KINDS,
    namespace: env.SDEWAN_NAMESPACE,
    purpose: env.SDEWAN_PURPOSE,
    onChange: (rule) => {
      if (rule && source.unknownKinds().length === 0) changes.seen(rule);
      loop.mark();
      onChange();
    },
    clock,
    log,
  });
  const secrets = createSecretSource({
    client: kube,
    kinds,
    namespace: env.SDEWAN_NAMESPACE,
    users: () => ({ rules: source.rules(), lastGood: lastGood.current() }),
    onChange: () => loop.mark(),
    log,
  });
  const information = createInformationSource({
    driver,
    intervalMs: env.SDEWAN_INFORMATION_INTERVAL_MS,
    onChange: () => publisher.mark(),
    clock,
    log,
  });
  const policySource = createPolicySource({
    client: kube,
    namespace: env.SDEWAN_NAMESPACE,
    purpose: env.SDEWAN_PURPOSE,
    onChange: () => policyLoop.mark(),
    clock,
    log,
  });
  const status = createStatus({
    driver,
    source,
    information: information.current,
    otherReports: (now) => policyLoop.reports(now),
    otherUnwatchedKinds: policySource.unwatchedKinds,
    fleet: () => ({ agent: VERSION, ...distance.word(), ...restart.word() }),
    commentsLost: ledger.untold,
    stateFolder: probeFiles.failing,
    onChange: () => onChange(),
    clock,
  });
  const denials = createDenials();
  const metrics = createAgentMetrics(registry, {
    ...status,
    denied: denials.all,
    firewallWays: () => driver.firewallWays?.(),
  });
  const counters = createCountersSource({
    devices: isOnLoopback(env.SDEWAN_OPENWRT_URL) ? readDeviceCounters : undefined,
    denied: denials.all,
    clock,
    log,
  });
  const boot = createBoot();
  const isOrder = createOrderCheck(clock);
  let sequence = 0;
  const publisher = createCoordinators({
    urls: env.SDEWAN_COORDINATOR_URL,
    resolve: resolveHost,
    clientOf: (target) =>
      createReportClient({
        target: { ...target, serverName: env.SDEWAN_COORDINATOR_SERVER_NAME ?? target.serverName },
        caFile: env.SDEWAN_COORDINATOR_CA_FILE,
        tokenFile: env.SDEWAN_COORDINATOR_TOKEN_FILE,
        namespace: env.SDEWAN_NAMESPACE,
        pod: env.SDEWAN_POD_NAME,
        clock,
      }),
    publisherOf: (client, publisherLog) =>
      createPublisher({
        snapshot: status.snapshot,
        client,
        boot,
        startedAt,
        nextSequence: () => (sequence += 1),
        purpose: env.SDEWAN_PURPOSE,
        heartbeatMs: env.SDEWAN_HEARTBEAT_INTERVAL_MS,
        clock,
        isOrder,
        onOrder: (order) => {
          distance.take(order);
          restart.take(order.restart);
        },
        onCommentsReported: ledger.told,
        changes,
        counters: counters.current,
        onSent: (outcome) => {
          metrics.reports.inc({ outcome });
          if (outcome !== 'failed') metrics.lastReport.set(clock.now() / 1_000);
        },
        log: publisherLog,
      }),
    clock,
    log,
  });
  const onChange = (): void => {
    publisher.mark();
    void probeFiles.setMissing(status.notReady());
  };
  const followed = { onChange: () => loop.mark(), signal, clock, log };
  const networks = await followNetworks({
    namespace: env.SDEWAN_NAMESPACE,
    nodusFile: env.SDEWAN_NETWORKS_FILE,
    selectionsFile: env.SDEWAN_ATTACHMENTS_FILE,
    statusFile: env.SDEWAN_NETWORK_STATUS_FILE,
    ...followed,
  });
  const paused = await followPaused({ file: env.SDEWAN_PAUSED_FILE, ...followed });
  const devices = await followDevices(followed);
  const logLeftOvers = leftOverLogger(log);
  const refusals = createRefusals(clock, revisionOf);
  const kernelDrift = createKernelDrift(clock);
  const pace = createPace(clock);
  const deadline = env.SDEWAN_COMMIT_CONFIRM;
  const coordinators = env.SDEWAN_COORDINATOR_URL.map((url) => coordinatorAt(url));
  const commitConfirm =
    deadline === 'off'
      ? withoutCommitConfirm
      : createCommitConfirm({
          file: await openRecord(inStateDir(COMMIT_CONFIRM_FILE), log),
          targets: createTargets([options.apiServer, ...coordinators], clock),
          decisive: [options.apiServer],
          isOutage: publisher.sayApiServerWasAway,
          deadlineMs: deadline * 1_000,
          purpose: env.SDEWAN_PURPOSE,
          driver,
          onChange: () => {
            // An agent that is cut off does not wait until the next change is due.
            pace.skip();
            loop.mark();
          },
          clock,
          log,
        });
  const pass = createPass({
    driver,
    commitConfirm,
    kinds,
    ledger,
    lastGood,
    refusals,
    kernelDrift,
    restart,
    pace,
    clock,
    onStanding: (standing) => {
      changes.stands(standing);
      status.setStanding(standing);
      policyLoop.onReached();
      logLeftOvers(standing.leftOvers);
    },
    onDrift: (packages, sections) => {
      log.warn({ packages }, 'drift: another user or program changed OpenWRT, repairing it');
      status.addDrift(sections);
      for (const name of packages) metrics.drift.inc({ package: name });
    },
    onTransaction: (outcome) => metrics.transactions.inc({ outcome }),
    onKeptWrong: () => {
      log.error('what rules compile to has changed without a cause: please report this');
      metrics.keptWrong.inc();
    },
  });
  const loop = createLoop({
    driver,
    rescue: commitConfirm.rescue,
    pass: async (input, passSignal) => {
      const stop = metrics.passSeconds.startTimer();
      changes.begun();
      const fingerprint = await pass(input, passSignal);
      stop();
      return fingerprint;
    },
    refusals,
    kernelDrift,
    pace,
    source,
    secrets,
    networks,
    devices,
    paused,
    place: distance.place,
    onPlaced: distance.passed,
    onAttempt: (attempt, begun) => {
      const { outcome } = attempt;
      if (!isLook(outcome)) metrics.passes.inc({ outcome });
      if (outcome === 'passed') metrics.lastPass.set(clock.now() / 1_000);
      status.addAttempt(attempt, begun);
      inspection.addAttempt(attempt, begun);
    },
    timings: {
      probeIntervalMs: env.SDEWAN_PROBE_INTERVAL_MS,
      fullPassIntervalMs: env.SDEWAN_FULL_PASS_INTERVAL_MS,
    },
    clock,
    log,
  });
  const policyLoop = createPolicyLoop({
    source: policySource,
    policies: () => driver.policies?.(),
    isReached: () => !status.notReady().has('openwrt'),
    paused,
    onChange: () => onChange(),
    onDrift: () => {
      status.addDrift([{ package: POLICIES, section: POLICY_TABLE }]);
      metrics.drift.inc({ package: POLICIES });
    },
    onLoaded: (seconds) => metrics.policySeconds.observe(seconds),
    denials,
    clock,
    log,
  });
  const inspection = createInspection({
    about: {
      agent: VERSION,
      namespace: env.SDEWAN_NAMESPACE,
      pod: env.SDEWAN_POD_NAME,
      purpose: env.SDEWAN_PURPOSE,
    },
    kinds,
    driver,
    ledger,
    lastGood,
    refusals,
    commitConfirm,
    loop,
    source,
    secrets,
    status,
    clock,
  });
  const { SDEWAN_HTTP_HOST: hostname, SDEWAN_HTTP_PORT: port, SDEWAN_INSPECT_URL: url } = env;
  const { notReady } = status;
  const servers = await Promise.all([
    orSay(serveHttp({ hostname, port, notReady, metrics: registry }), (err) =>
      log.error({ err, hostname, port }, 'failed to serve health and metrics'),
    ),
    url === 'off'
      ? undefined
      : orSay(serveInspection({ url, ...inspection, metrics: registry, clock }), (err) =>
          log.error({ err, url }, 'failed to serve what people ask the agent for'),
        ),
  ]);
  const lastWords = probeFiles.run(signal).catch((error: unknown) => error);
  try {
    await Promise.all([
      source.run(signal),
      secrets.run(signal),
      loop.run(signal),
      commitConfirm.run(signal),
      policySource.run(signal),
      policyLoop.run(signal),
      status.run(signal),
      publisher.run(signal),
      information.run(signal),
      counters.run(signal),
    ]);
  } finally {
    await Promise.all([...servers.map((server) => server?.close()), driver.close()]);
  }
  const error = await lastWords;
  if (error !== undefined) throw error;
};

const isLook = (outcome: Attempt['outcome']): boolean =>
  outcome === 'answered' || outcome === 'unchanged' || outcome === 'differs';

/** Rules matter more than figures: an address that is taken costs only the latter. */
const orSay = async (
  serving: Promise<RunningHttp>,
  say: (error: unknown) => void,
): Promise<RunningHttp | undefined> => {
  try {
    return await serving;
  } catch (error) {
    say(error);
    return undefined;
  }
};
