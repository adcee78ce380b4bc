/**
 * Admission and what CNFs need in their namespaces, as one piece: webhooks, the watches that they
 * answer from, RoleBindings and CAs. Without servers, signals or environment.
 */
import type { HttpBindings } from '@hono/node-server';
import type { InjectOptions } from '#shared/inject/options.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import type { Resource } from '#shared/resources/resource.ts';
import { isAllowed } from '#shared/kube/access.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import type { Leadership } from '#shared/kube/leadership.ts';
import { AGENT_KEYS_ROLE, AGENT_ROLE } from '#shared/names.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import type { Registry } from '#shared/metrics/prometheus.ts';
import { createAdmissionApp } from './admission/app.ts';
import { createCachedFacts } from './admission/cached-facts.ts';
import { bucketChecks, ruleChecks, type ListedCheck } from './admission/checks/list.ts';
import { createCnfDeploymentWebhook } from './admission/cnf/cnf-deployments.ts';
import { createGates } from './admission/cnf/gate.ts';
import { createPortsGate, managedNetworks } from './admission/cnf/ports-gate.ts';
import { createCnfLookups } from './admission/cnf/lookups.ts';
import { createPodWebhook, createSecondCnfWebhook } from './admission/cnf/inject-agent.ts';
import { createWorkloadWebhook, labelTemplate } from './admission/cnf/workloads.ts';
import type { ReferenceMode } from './admission/decide.ts';
import { managedNetworksOr } from './admission/managed-networks.ts';
import { createLiveFacts, type KnownCnf } from './admission/live-facts.ts';
import { nameWhoAsks } from './admission/requests.ts';
import { addAgentsFinalizer, createRuleWebhook, type RuleWebhook } from './admission/rules.ts';
import { createBindingsController } from './controllers/bindings/controller.ts';
import type { Sources } from './coordinator.ts';
import { createReviewMetrics, type Metrics } from './metrics.ts';
import type { CnfPodChange } from './sources/cnf-pods.ts';
import { deployments } from './sources/workload.ts';
import { Workloads } from './sources/workloads.ts';

export type WebhooksOptions = {
  client: KubeClient;
  /** The rules. */
  kinds: readonly KindDefinition[];
  /** All that people write, rules among them. */
  resources: readonly Resource[];
  /** The only one to look after; undefined: all. */
  namespace: string | undefined;
  referenceMode: ReferenceMode;
  bucketTypes: readonly string[];
  inject: InjectOptions;
  sources: Sources;
  /** PEM of the CAs that agents must trust; undefined when others give it to them. */
  caBundle: (() => string) | undefined;
  /** Whether the API server was told to call paths that end in it. */
  isGoodToken: (token: string) => boolean;
  registry: Registry;
  metrics: Metrics;
  leadership: Leadership;
  clock: Clock;
  log: Logger;
};

export type Webhooks = {
  /** The webhooks, for a server. Every path begins with `/admission/`. */
  fetch: (request: Request, connection: HttpBindings) => Response | Promise<Response>;
  onPod: (change: CnfPodChange) => void;
  /** The CA has changed. */
  onBundle: () => void;
  run: (signal: AbortSignal) => Promise<void>;
};

/** What is asked about a CNFDeployment. */
const questionsTo = (client: KubeClient) => ({
  mayRoll: (namespace: string, signal: AbortSignal): Promise<boolean> => {
    const { group, plural: resource } = deployments;
    return isAllowed(client, { verb: 'create', group, resource, namespace }, signal);
  },
  networks: (signal: AbortSignal) => managedNetworks(client, signal),
});

/** Bindings have the names of the roles. */
const AGENT_ROLES: readonly string[] = [AGENT_ROLE, AGENT_KEYS_ROLE];

export const createWebhooks = (options: WebhooksOptions): Webhooks => {
  const { client, clock, inject, kinds, log, metrics, namespace, sources } = options;
  const { pods, rules } = sources;
  const keyKinds = kinds.filter(({ holdsKeys }) => holdsKeys).map(({ kind }) => kind);

  const accountsOf = (name: string): string[] => [
    ...pods.serviceAccounts(name),
    ...workloads.ofNamespace(name).map(({ serviceAccount }) => serviceAccount),
  ];
  const cnfNamespaces = (): Set<string> =>
    new Set([...pods.all(), ...workloads.all()].map((one) => one.namespace));
  const bindings = createBindingsController({
    client,
    accounts: () => (sources.hasCaughtUp() && workloads.hasSynced() ? accountsOf : undefined),
    namespaces: () => [...cnfNamespaces(), ...cache.boundTo(AGENT_ROLES)],
    caBundle: options.caBundle,
    metrics,
    leadership: options.leadership,
    clock,
    log,
  });
  const workloads: Workloads = new Workloads({
    client,
    namespace,
    onChange: (name) => bindings.mark(name),
    clock,
    log,
  });
  const cnfs = (name: string, purpose: string): KnownCnf[] => [
    ...workloads.ofNamespace(name).filter((workload) => workload.purpose === purpose),
    ...pods.withNetworks(name, purpose),
  ];
  const cache = createCachedFacts({
    client,
    rules: (indexKeys, most) => rules.tied(indexKeys, most),
    networkAnnotations: (...cnf) => cnfs(...cnf).map(({ networks }) => networks),
    purposes: (name) => [
      ...workloads
        .ofNamespace(name)
        .flatMap(({ purpose, templatePurpose }) => [purpose, templatePurpose]),
      ...pods.ofNamespace(name).map(({ purpose }) => purpose),
    ],
    isComplete: () => pods.state.listed && workloads.hasSynced() && rules.unknown.size === 0,
    onBinding: ({ name, namespace: bound }) => {
      if (AGENT_ROLES.includes(name)) bindings.mark(bound);
    },
    clock,
    log,
  });
  const live = createLiveFacts(client, (...cnf) => (cache.source() ? cnfs(...cnf) : []));
  const lookups = createCnfLookups(client);
  const gates = createGates({ client, lookups, log });
  const portsGate = createPortsGate({ client });
  const common = { defaults: inject, keyKinds, lookups, announce: bindings.announce, log };
  const rulesBy = (
    checks: readonly ListedCheck[],
    judged: readonly KindDefinition[],
  ): RuleWebhook =>
    createRuleWebhook({
      kinds: judged,
      checks,
      bucketTypes: options.bucketTypes,
      referenceMode: options.referenceMode,
      cached: cache.source,
      live,
    });

  const app = createAdmissionApp({
    webhooks: {
      rules: managedNetworksOr(client, rulesBy(ruleChecks, options.resources)),
      'cnf-deployments': createCnfDeploymentWebhook({ lookups, log, ...questionsTo(client) }),
      buckets: rulesBy(bucketChecks, kinds),
      requests: nameWhoAsks,
      'rule-finalizers': (request) => addAgentsFinalizer(request, kinds),
      pods: createPodWebhook({ ...common, gates, portsGate }),
      'second-cnfs': createSecondCnfWebhook({ lookups, log }),
      workloads: createWorkloadWebhook(common),
      'workload-labels': labelTemplate,
    },
    isGoodToken: options.isGoodToken,
    onResult: createReviewMetrics(options.registry),
    clock,
    log,
  });

  return {
    fetch: app.fetch,
    onPod: ({ before, now }) => {
      const name = (now ?? before)?.namespace;
      if (name !== undefined) bindings.mark(name);
    },
    onBundle: () => {
      for (const name of cnfNamespaces()) bindings.mark(name);
    },
    run: async (signal) => {
      await Promise.all([workloads.run(signal), cache.run(signal), bindings.run(signal)]);
    },
  };
};
