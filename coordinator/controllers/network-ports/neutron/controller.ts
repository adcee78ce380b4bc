/**
 * Watches what the controller of NetworkPorts does, by its sources; owns the ports in Neutron that
 * bear our name: makes that of each claim, deletes it when the claim has rested, and finds again
 * what lost answers and deaths have left.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '#shared/kube/client.ts';
import { createController, type ControllerDeps, type Outcome } from '#shared/kube/controller.ts';
import type { ManagedNetwork } from '#shared/resources/other-kinds/managed-network.ts';
import {
  isUnclaimed,
  type NetworkPort,
  type NetworkPortSpec,
} from '#shared/resources/other-kinds/network-port.ts';
import { NeutronError } from '../../../neutron/errors.ts';
import type { NeutronPorts } from '../../../neutron/ports.ts';
import { causeOf, createOutages, type OutageCause } from '../../../neutron/outage.ts';
import { poolOf } from '../claims.ts';
import type { KnownNetwork, Wait } from '../decide.ts';
import type { Announcer } from '../events.ts';
import type { PortSources } from '../sources.ts';
import { NOT_ASKED } from '../subnets.ts';
import type { PortWrites } from '../writes.ts';
import { AGAIN_MS, KnownInNeutron } from './known.ts';
import { createLook } from './look.ts';
import { createMaker } from './make.ts';
import { createPools } from './pools.ts';

export type NeutronOfPorts = {
  calls: NeutronPorts;
  /** Its mark, by the uid of namespace kube-system; undefined: not known yet. */
  cluster: () => string | undefined;
  /** Between whole looks at the ports of a network. */
  resyncMs: number;
  /**
   * Whether the policies' controller has set the groups of the port for that pod: `unguarded` where
   * it can have none. Undefined: not yet.
   */
  guardOf: (portId: string, podUid: string) => 'guarded' | 'unguarded' | undefined;
  /** NetworkPorts have other ports now, or other pods. */
  onPorts: () => void;
};

type Options = ControllerDeps &
  NeutronOfPorts & {
    client: KubeClient;
    sources: PortSources;
    writes: PortWrites;
    announcer: Announcer;
    /** Its status may be another; the pod may go on. */
    onNetwork: (name: string) => void;
    onPod: (uid: string) => void;
    onPortName: (name: string) => void;
  };

export type NeutronPortsController = {
  planOf: (network: ManagedNetwork) => KnownNetwork['plan'];
  fullOf: (network: ManagedNetwork) => string | undefined;
  /** Why ports without a NetworkPort are not deleted. */
  sweepHeld: (network: string) => string | undefined;
  /** Why Neutron makes none, as far as it has been asked. */
  refusalOf: (port: NetworkPort) => Wait | undefined;
  /** Why the pod does not have the port yet. */
  waitOf: (port: NetworkPort) => Wait | undefined;
  onNetwork: (name: string) => void;
  /** It came, went or changed. */
  onPort: (port: NetworkPort) => void;
  /** It has rested, or was deleted by others. */
  release: (name: string) => void;
  /** By its pool. Undefined: that is not known yet. */
  isWanted: (port: NetworkPort) => boolean | undefined;
  run: (signal: AbortSignal) => Promise<void>;
};

const COALESCE_MS = 5;

export const createNeutronPorts = (options: Options): NeutronPortsController => {
  const { clock, guardOf, leadership, log, metrics, onPod, sources } = options;
  const outages = createOutages(clock);
  const known = new KnownInNeutron(sources, clock);
  const onDoubt = (network: string): void => controller.mark(`network ${network}`);
  const onPool = (name: string): void => pools.mark(name);
  const maker = createMaker({ ...options, known, onDoubt, onPool });
  const { make, remove } = maker;
  const pools = createPools({ ...options, known, maker, onPort: options.onPortName });
  const look = createLook({ ...options, known });

  const reconcile = async (key: string, cluster: string, signal: AbortSignal): Promise<Outcome> => {
    const waitMs = outages.waitMs();
    if (waitMs > 0) return { againInMs: waitMs };
    const startedAt = clock.monotonic();
    const [what, id = ''] = key.split(' ', 2);
    try {
      const act = what === 'pod' ? make : what === 'release' ? remove : look;
      const outcome = await act(id, cluster, signal);
      if (act === look) for (const port of sources.portsOf(id)) onPort(port);
      outages.over();
      noteFailing(undefined);
      return outcome;
    } catch (error) {
      if (!(error instanceof NeutronError)) throw error;
      return failed(error, key, startedAt);
    }
  };

  /** Networks and pods say why they wait. */
  const noteFailing = (cause: OutageCause | undefined): void => {
    if (known.failing?.message === cause?.message) return;
    known.failing = cause;
    sources.forgetPlans();
    for (const { metadata } of sources.networks.store.list()) options.onNetwork(metadata.name);
  };

  const failed = (error: NeutronError, key: string, startedAt: number): Outcome => {
    const cause = causeOf(error);
    const againInMs = isOfOneCall(error) ? AGAIN_MS : outages.failed(startedAt);
    if (!isOfOneCall(error)) noteFailing(cause);
    log.warn({ err: error, key, retryInMs: againInMs }, 'a call of Neutron failed, retrying');
    const [what, id = ''] = key.split(' ', 2);
    if (what === 'pod') onPod(id);
    const network = what === 'network' ? known.networkNamed(id) : undefined;
    if (network && isOfOneCall(error)) {
      known.noteUnread(network, cause.message);
      sources.forgetPlans();
      options.onNetwork(id);
    }
    return { failed: cause.reason, againInMs };
  };

  const controller = createController<string>({
    leadership,
    metrics,
    clock,
    log,
    name: 'neutron-ports',
    facts: () => (sources.isKnown() ? options.cluster() : undefined),
    markAll: () => {
      known.forget();
      outages.over();
      for (const { metadata } of sources.networks.store.list()) onNetwork(metadata.name);
      for (const port of sources.allPorts()) onPort(port);
    },
    reconcile,
    fieldsOf: (key) => ({ key }),
    groupOf: (key) => sources.turnOf(key),
    coalesceMs: COALESCE_MS,
  });

  /** Its ports come and go, and Neutron is not asked each time. */
  const onNetwork = (name: string): void => {
    const { metadata, spec } = known.networkNamed(name) ?? {};
    const asked = known.plans.get(metadata?.uid ?? '')?.neutron;
    if (spec?.neutron && !isDeepStrictEqual(asked, spec.neutron)) onDoubt(name);
  };
  const onPort = (port: NetworkPort): void => {
    const pool = poolOf(port);
    if (pool !== undefined) pools.mark(pool);
    if (known.isToBeMade(port) && !isUnclaimed(port)) controller.mark(`pod ${port.spec.claim.uid}`);
  };

  return {
    planOf: ({ metadata }) =>
      known.plans.get(metadata.uid)?.plan ?? {
        reason: NOT_ASKED,
        problem: known.failing?.message ?? 'Neutron has not been asked yet',
      },
    fullOf: (network) => known.fullOf(network),
    sweepHeld: (network) => known.held.get(network),
    refusalOf: ({ metadata }) => known.refused.get(metadata.uid),
    waitOf: (port) => waitOf(port, known, guardOf),
    onNetwork,
    onPort,
    release: (name) => controller.mark(`release ${name}`),
    isWanted: pools.wants,
    run: async (signal) => {
      await Promise.all([controller.run(signal), pools.run(signal)]);
    },
  };
};

/** It says nothing of others: all but what is not answered, and credentials that are refused. */
const isOfOneCall = ({ status }: NeutronError): boolean =>
  status >= 400 && status < 500 && status !== 401;

const waitOf = (
  port: NetworkPort,
  known: KnownInNeutron,
  guardOf: NeutronOfPorts['guardOf'],
): Wait | undefined => {
  const { metadata, spec, status } = port;
  const refused = known.refused.get(metadata.uid);
  if (refused) return refused;
  if (status?.portID === undefined || known.isToBeMade(port))
    return portWait(spec, `is being made${known.failing ? `: ${known.failing.message}` : ''}`);
  return guardOf(status.portID, spec.claim.uid) === undefined
    ? portWait(spec, 'has no security groups yet')
    : undefined;
};

export const portWait = ({ claim, network }: NetworkPortSpec, what: string): Wait => ({
  reason: 'PortNotReady',
  message: `interface ${claim.interface}: its port in Neutron ${what}`,
  networks: [network],
  isPassing: true,
});
