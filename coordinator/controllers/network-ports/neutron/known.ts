/** What this coordinator knows of Neutron and has not written anywhere: a death only forgets it. */
import type { ManagedNetwork } from '#shared/resources/other-kinds/managed-network.ts';
import type { NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { OutageCause } from '../../../neutron/outage.ts';
import { isReleased } from '../claims.ts';
import type { KnownNetwork, Wait } from '../decide.ts';
import type { PortSources } from '../sources.ts';
import { NOT_ASKED } from '../subnets.ts';

/** Until a port is asked for again where there was no room. */
export const AGAIN_MS = 10_000;
const WHOLE_PROJECT = '';

export class KnownInNeutron {
  /** By uid of the network, with what was asked for. */
  readonly plans = new Map<string, { neutron: object; plan: KnownNetwork['plan'] }>();
  /** By uid of the NetworkPort. */
  readonly refused = new Map<string, Wait>();
  /** Uids of NetworkPorts whose port is not where it was. */
  readonly missing = new Set<string>();
  /** By name of the network: why ports without a NetworkPort are not deleted. */
  readonly held = new Map<string, string>();
  /** By name of the network: since when ports have no NetworkPort, by id. */
  readonly seen = new Map<string, ReadonlyMap<string, number>>();
  failing: OutageCause | undefined;
  readonly #full = new Map<string, { words: string; until: number }>();
  readonly #sources: PortSources;
  readonly #clock: Pick<Clock, 'monotonic'>;

  constructor(sources: PortSources, clock: Pick<Clock, 'monotonic'>) {
    this.#sources = sources;
    this.#clock = clock;
  }

  networkNamed(name: string): ManagedNetwork | undefined {
    return this.#sources.networks.store.byName('', name);
  }

  /** Its look has failed for a reason of its own, and what it gives was never known. */
  noteUnread({ metadata, spec: { neutron } }: ManagedNetwork, problem: string): void {
    const before = this.plans.get(metadata.uid)?.plan;
    if (neutron && (!before || ('problem' in before && before.reason === NOT_ASKED)))
      this.plans.set(metadata.uid, { neutron, plan: { reason: NOT_ASKED, problem } });
  }

  isToBeMade(port: NetworkPort): boolean {
    return (
      this.networkNamed(port.spec.network)?.spec.provider === 'neutron' &&
      !isReleased(port) &&
      (port.status?.portID === undefined || this.missing.has(port.metadata.uid))
    );
  }

  noteFull(what: 'project' | 'network', network: string, words: string): void {
    const until = this.#clock.monotonic() + AGAIN_MS;
    this.#full.set(what === 'project' ? WHOLE_PROJECT : network, { words, until });
  }

  /** A port was made or deleted. */
  noteRoom(network: string): void {
    for (const key of [network, WHOLE_PROJECT]) this.#full.delete(key);
  }

  fullOf({ metadata }: ManagedNetwork): string | undefined {
    return [metadata.name, WHOLE_PROJECT]
      .map((key) => this.#full.get(key))
      .find((one) => one && one.until > this.#clock.monotonic())?.words;
  }

  /** Another coordinator has acted since. */
  forget(): void {
    this.plans.clear();
    this.seen.clear();
    this.missing.clear();
    this.refused.clear();
    this.#full.clear();
  }
}
