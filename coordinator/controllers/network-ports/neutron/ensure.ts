/**
 * The port of a NetworkPort in Neutron, made once whatever becomes of answers: its MAC was chosen
 * before, Neutron makes no second port of the network with it, and whose it is says its name.
 */
import type { NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import { NeutronError } from '../../../neutron/errors.ts';
import { networkPortName, uidIn } from '../../../neutron/names.ts';
import type { MadePort, NeutronPorts, NewPort } from '../../../neutron/ports.ts';
import { fixedIpsOf } from './plan.ts';
import type { NeutronPlan } from '../subnets.ts';
import { refusalOf, type Refusal } from './refusal.ts';

export type PortCalls = Pick<
  NeutronPorts,
  'createPort' | 'deletePort' | 'portsWhere' | 'renamePort'
>;

export type EnsureDeps = {
  calls: PortCalls;
  /** Its mark. */
  cluster: string;
  /** Whether there is a NetworkPort of that uid. */
  isKnown: (uid: string) => boolean;
  signal: AbortSignal;
};

/** @throws NeutronError that leaves open what has become of it */
export const ensurePort = async (
  { metadata, spec }: NetworkPort,
  plan: NeutronPlan,
  { calls, cluster, isKnown, signal }: EnsureDeps,
): Promise<MadePort | Refusal> => {
  const name = networkPortName(cluster, metadata.uid);
  const { mac, addresses, network } = spec;
  try {
    return await calls.createPort(wantedOf({ metadata, spec }, plan, cluster), signal);
  } catch (error) {
    if (!(error instanceof NeutronError)) throw error;
    const asked = [...addresses, mac].join(' or ');
    const refusal = refusalOf(error, { network, asked });
    if (refusal === undefined) throw error;
    // An earlier call may have made it, whatever keeps this one from it.
    const [there] = await calls.portsWhere({ network: plan.network, mac }, signal);
    if (there === undefined) return refusal;
    if (there.name === name) return there;
    const other = uidIn(cluster, there.name);
    if (other === undefined || isKnown(other)) return refusal;
    // That of the NetworkPort which this one replaces.
    await calls.renamePort(there.id, name, signal);
    return { ...there, name };
  }
};

const wantedOf = (
  { metadata, spec: { addresses, mac } }: Pick<NetworkPort, 'metadata' | 'spec'>,
  plan: NeutronPlan,
  cluster: string,
): NewPort => ({
  network_id: plan.network,
  name: networkPortName(cluster, metadata.uid),
  mac_address: mac,
  fixed_ips: fixedIpsOf(plan, addresses),
});

/**
 * All in one call, which must not be repeated, or none, where Neutron refuses that. @throws
 * NeutronError that leaves open what has become of it
 */
export const createAll = async (
  ports: readonly NetworkPort[],
  plan: NeutronPlan,
  { calls, cluster, signal }: Pick<EnsureDeps, 'cluster' | 'signal'> & { calls: BulkCalls },
): Promise<readonly MadePort[]> => {
  try {
    const wanted = ports.map((port) => wantedOf(port, plan, cluster));
    return await calls.createPorts(wanted, signal);
  } catch (error) {
    if (!(error instanceof NeutronError) || !refusalOf(error, NOT_SAID)) throw error;
    return [];
  }
};
type BulkCalls = Pick<NeutronPorts, 'createPorts'>;
const NOT_SAID = { network: '', asked: '' };

/** In whichever network: its ManagedNetwork may be gone, or another now. @throws NeutronError */
export const removePort = async (
  { metadata, spec }: NetworkPort,
  { calls, cluster, signal }: Pick<EnsureDeps, 'calls' | 'cluster' | 'signal'>,
): Promise<void> => {
  const name = networkPortName(cluster, metadata.uid);
  for (const port of await calls.portsWhere({ mac: spec.mac }, signal))
    if (port.name === name) await calls.deletePort(port.id, signal);
};
