/**
 * What the coordinator makes of other things: addresses of pods on the CRs that follow them, the
 * children of CRs that make others, and FirewallDNATs of Services, Deployments of CNFDeployments,
 * what CNFs enforce of NetworkPolicies. Assembled here, notified by the sources.
 */
import { Resolver } from 'node:dns/promises';
import type { Sources } from './coordinator.ts';
import type { CnfPodChange } from './sources/cnf-pods.ts';
import { createFleetController } from './controllers/fleet/controller.ts';
import type { RollOutMetrics } from './controllers/fleet/metrics.ts';
import { createLookUps } from './controllers/fleet/updates/look-ups.ts';
import { createRegistry, type RegistryOptions } from './controllers/fleet/updates/registry.ts';
import type { CnfPod } from './sources/cnf-pod.ts';
import {
  AddressBook,
  type AddressBookOptions,
} from './controllers/generated-rules/children/address-book.ts';
import { createChildren } from './controllers/generated-rules/children/children.ts';
import { createLookup, readResolvConf } from './controllers/generated-rules/children/dns-lookup.ts';
import { createFollowedPods } from './controllers/generated-rules/followed-pods/followed-pods.ts';
import type { GeneratorDeps } from './controllers/generated-rules/generator.ts';
import type { ExposeOptions } from './controllers/generated-rules/kubernetes-services/wanted-rules.ts';
import { createServices } from './controllers/generated-rules/kubernetes-services/controller.ts';
import type { PolicyMetrics } from './controllers/network-policy/metrics.ts';
import { createPoliciesController } from './controllers/network-policy/controller.ts';
import {
  createNetworkPortsController,
  type NetworkPortsController,
} from './controllers/network-ports/controller.ts';
import type { PortMetrics } from './controllers/network-ports/metrics.ts';
import { createPolicySources } from './controllers/network-policy/sources.ts';
import {
  createSecurityGroupsController,
  type SecurityGroupsController,
  type SecurityGroupsDeps,
} from './controllers/security-groups/controller.ts';
import type { NeutronPorts } from './neutron/ports.ts';

export type GeneratorsOptions = Omit<GeneratorDeps, 'rules'> & {
  /** Undefined: Services are ignored. */
  expose: ExposeOptions | undefined;
  /** `servers`: instead of those of /etc/resolv.conf, if any are given. */
  dns: { servers: readonly string[] } & Pick<AddressBookOptions, 'minTtlMs' | 'maxTtlMs'>;
  /** Whether SdewanApplications select pods of namespaces that do not accept it. */
  selectsWithoutConsent: boolean;
  sources: Sources;
  rollOuts: RollOutMetrics;
  registries: RegistryOptions & { tagsMs: number };
  /** Undefined: policies are not enforced there. */
  neutron:
    | (Pick<SecurityGroupsDeps, 'neutron' | 'resyncMs' | 'exposeFailing'> & {
        neutron: NeutronPorts;
        /** In place of the uid that a copy of the cluster has as well. */
        clusterId: string | undefined;
      })
    | undefined;
  policyMetrics: PolicyMetrics;
  portMetrics: PortMetrics;
};

export type Generators = {
  /** A rule that agents apply came, went or changed. */
  onRule: (uid: string) => void;
  onPod: (change: CnfPodChange) => void;
  /** The agent of a pod has said something new. */
  onReport: (pod: CnfPod) => void;
  /** It has counted something. */
  onCounters: (pod: CnfPod) => void;
  run: (signal: AbortSignal) => Promise<void>;
};

/** A server that does not answer within this time is asked once more. */
const DNS_TIMEOUT_MS = 3_000;

export const createGenerators = (options: GeneratorsOptions): Generators => {
  const { dns, expose, sources } = options;
  const { pods, rules } = sources;
  const common = { ...options, rules };

  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: 2 });
  if (dns.servers.length > 0) resolver.setServers(dns.servers);
  const lookup = createLookup({ resolver, ...readResolvConf() });
  const addresses = new AddressBook({ ...dns, lookup, clock: options.clock });

  const services =
    expose &&
    createServices({
      ...common,
      options: expose,
      cnfs: { acceptedBy: (namespace, purpose) => pods.acceptedBy(namespace, purpose) },
      isComplete: () => sources.hasCaughtUp() && rules.unknown.size === 0,
    });
  const ofRules = [
    createFollowedPods({ ...common, withoutConsent: options.selectsWithoutConsent }),
    createChildren({ ...common, addresses }),
    ...(services ? [services] : []),
  ];

  // One that looks after one namespace does not see the pods that policies are about.
  const { namespace, neutron } = options;
  const policySources =
    namespace === undefined
      ? createPolicySources({ ...options, clusterId: neutron?.clusterId })
      : undefined;
  const networkPorts: NetworkPortsController | undefined =
    policySources &&
    createNetworkPortsController({
      ...options,
      neutronOfPorts: neutron && {
        calls: neutron.neutron,
        resyncMs: neutron.resyncMs,
        cluster: policySources.cluster,
        guardOf: (port, pod) => securityGroups?.guardOf(port, pod),
        onPorts: () => securityGroups?.mark(),
      },
    });
  const fleet = createFleetController({
    ...common,
    addressWaitOf: (podUid) => networkPorts?.waitOf(podUid),
    standings: sources.standings,
    orders: sources.orders,
    addressesOf: sources.addressesOf,
    countersOf: sources.countersOf,
    lookUps: createLookUps({
      ...options,
      holdsMs: options.registries.tagsMs,
      digestOf: createRegistry(options.registries),
    }),
    versionOf: (podUid) => sources.reportOf(podUid)?.fleet.agent,
    restartedBy: (podUid) => sources.reportOf(podUid)?.fleet.restarted,
    reportedAt: (podUid) => sources.reportOf(podUid)?.receivedAt.wall,
  });
  const policies =
    policySources &&
    createPoliciesController({
      ...options,
      policySources,
      asking: () => (pods.state.listed ? pods.askingForPolicies() : undefined),
      podsOf: ({ namespace, purpose }) =>
        new Set(pods.ofPurpose(namespace, purpose).map(({ uid }) => uid)),
    });
  const securityGroups: SecurityGroupsController | undefined =
    policySources &&
    neutron &&
    createSecurityGroupsController({
      ...options,
      ...neutron,
      policySources,
      portsInNeutron: () => networkPorts?.portsInNeutron(),
      onGuards: () => networkPorts?.onGuards(),
    });

  return {
    onReport: fleet.mark,
    onCounters: fleet.markObserved,
    onRule: (uid) => {
      const rule = rules.get(uid)?.rule;
      if (rule) fleet.mark(rule);
      for (const generator of ofRules) generator.onRule(uid);
    },
    onPod: ({ before, now, hasNewConsent }) => {
      for (const pod of [before, now]) if (pod) fleet.mark(pod);
      if (before?.purpose !== now?.purpose || hasNewConsent) services?.onCnfs();
      policies?.onPlaces();
    },
    run: async (signal) => {
      signal.addEventListener('abort', () => resolver.cancel(), { once: true });
      await Promise.all([
        ...ofRules.map((generator) => generator.run(signal)),
        fleet.run(signal),
        policySources?.run(signal),
        policies?.run(signal),
        securityGroups?.run(signal),
        networkPorts?.run(signal),
      ]);
    },
  };
};
