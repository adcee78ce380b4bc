/**
 * Random histories of claims, lost answers, calls that are done late, deaths between two calls, and
 * of others who delete ports and NetworkPorts, under a clock of their own: in the end each
 * NetworkPort has one port, and each port of ours a NetworkPort.
 */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import { caseCount } from '#shared/runtime/testing.ts';
import { NeutronError } from '../../../neutron/errors.ts';
import { networkPortName } from '../../../neutron/names.ts';
import { REST_MS } from '../decide.ts';
import { ensurePort, removePort } from './ensure.ts';
import { addressesIn } from './plan.ts';
import { sweepOf } from './sweep.ts';
import {
  CLUSTER,
  createNetworkInMemory,
  MINUTE,
  neutronPlan,
  neutronPort,
  type LostAnswer,
} from './testing.ts';

const HISTORIES = 1_000;
const QUOTA = 6;
const SWEEP_MS = 10 * MINUTE;
const plan = neutronPlan();

const which = fc.nat(9);
const lost = fc.constantFrom<LostAnswer>(undefined, 'before', 'after', 'late');
const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constantFrom('claim' as const, 'look' as const, 'settle' as const) }),
    fc.record({
      do: fc.constantFrom('make' as const, 'die' as const, 'remove' as const),
      which,
      lost,
      /** After so many answers the next one is lost. */
      after: fc.nat(1),
    }),
    fc.record({
      do: fc.constantFrom('release' as const, 'lose' as const, 'replace' as const),
      which,
    }),
    fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(1_000, REST_MS, SWEEP_MS) }),
  ),
  { minLength: 20, maxLength: 60, size: 'max' },
);
type Step = typeof steps extends fc.Arbitrary<(infer One)[]> ? One : never;

const demand = (holds: boolean, message: string): void => {
  if (!holds) throw new Error(message);
};

class Model {
  now = 0;
  readonly network = createNetworkInMemory(QUOTA);
  readonly objects = new Map<string, NetworkPort>();
  readonly #missing = new Set<string>();
  #seen: ReadonlyMap<string, number> = new Map();
  #made = 0;

  async run(step: Step): Promise<void> {
    const chosen = 'which' in step ? this.#at(step.which) : undefined;
    if (step.do === 'claim') this.#claim();
    else if (step.do === 'settle') this.network.settle();
    else if (step.do === 'pass') this.now += step.ms;
    else if (step.do === 'look') await this.#look();
    else if (chosen === undefined) return;
    else if ('lost' in step) await this.#callWith(step, chosen);
    else if (step.do === 'release')
      this.#put({ ...chosen, status: { ...chosen.status, ...this.#at0() } });
    else if (step.do === 'lose') this.network.ports.delete(chosen.status?.portID ?? '');
    else this.#replace(chosen);
    this.#judge();
  }

  #at0(): { releasedAt: string } {
    return { releasedAt: new Date(this.now).toISOString() };
  }

  #at(at: number): NetworkPort | undefined {
    const all = [...this.objects.values()];
    return all[at % all.length];
  }

  #put(object: NetworkPort): void {
    this.objects.set(object.metadata.uid, object);
  }

  #uid(): string {
    this.#made += 1;
    return `00000000-0000-4000-8000-${String(this.#made).padStart(12, '0')}`;
  }

  #claim(): void {
    const uid = this.#uid();
    this.#put(neutronPort(uid, `02:00:00:00:00:${String(this.#made % 100).padStart(2, '0')}`));
  }

  /** An administrator deletes it while its pod has it, and it is claimed anew. */
  #replace(object: NetworkPort): void {
    if (object.status?.releasedAt !== undefined) return;
    this.objects.delete(object.metadata.uid);
    const { spec } = object;
    this.#put({ ...neutronPort(this.#uid(), spec.mac), spec });
  }

  async #callWith(step: Extract<Step, { lost: LostAnswer }>, object: NetworkPort): Promise<void> {
    if (step.after === 0) this.network.lose(step.lost);
    await this.#try(async () => {
      if (step.do === 'remove') await this.#remove(object);
      else await this.#make(object, step.do === 'die');
    });
    this.network.lose(undefined);
  }

  async #try(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (!(error instanceof NeutronError)) throw error;
    }
  }

  readonly #deps = {
    calls: this.network.calls,
    cluster: CLUSTER,
    isKnown: (uid: string) => this.objects.has(uid),
    signal: new AbortController().signal,
  };

  /** `dies`: before it is written down. */
  async #make(object: NetworkPort, dies: boolean): Promise<void> {
    const { uid } = object.metadata;
    const { releasedAt, portID } = object.status ?? {};
    if (releasedAt !== undefined || (portID !== undefined && !this.#missing.has(uid))) return;
    const made = await ensurePort(object, plan, this.#deps);
    if ('reason' in made || dies) return;
    const spec = { ...object.spec, addresses: addressesIn(plan, made) };
    this.#put({ ...object, spec, status: { portID: made.id } });
    this.#missing.delete(uid);
  }

  async #remove(object: NetworkPort): Promise<void> {
    const { releasedAt } = object.status ?? {};
    if (releasedAt === undefined || Date.parse(releasedAt) + REST_MS > this.now) return;
    await removePort(object, this.#deps);
    this.objects.delete(object.metadata.uid);
  }

  async #look(): Promise<void> {
    const { missing, remove, seen } = sweepOf({
      cluster: CLUSTER,
      listed: [...this.network.ports.values()],
      objects: [...this.objects.values()],
      network: 'lan',
      now: this.now,
      seen: this.#seen,
      afterMs: SWEEP_MS,
    });
    this.#seen = seen;
    for (const { metadata } of missing) this.#missing.add(metadata.uid);
    const used = new Set([...this.objects.values()].map(({ status }) => status?.portID));
    for (const { id } of remove) demand(!used.has(id), `${id} is swept, and a NetworkPort has it`);
    for (const { id } of remove) await this.network.calls.deletePort(id);
  }

  /** What may never be. */
  #judge(): void {
    const ids = [...this.objects.values()].flatMap(({ status }) => status?.portID ?? []);
    demand(new Set(ids).size === ids.length, `two NetworkPorts have one of ${ids.join()}`);
    const macs = [...this.network.ports.values()].map(({ mac_address: mac }) => mac);
    demand(new Set(macs).size === macs.length, `two ports have one of ${macs.join()}`);
  }

  /** Until nothing changes any more. */
  async settleAll(): Promise<void> {
    for (let round = 0; round < 4; round += 1) {
      this.network.settle();
      await this.#look();
      this.now += SWEEP_MS;
      for (const object of this.objects.values()) await this.#try(() => this.#remove(object));
      await this.#look();
      for (const object of this.objects.values()) await this.#try(() => this.#make(object, false));
      this.#judge();
    }
  }
}

it('has one port for each NetworkPort as far as there is room, and none without', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const model = new Model();
      for (const step of history) await model.run(step);
      await model.settleAll();
      const { objects, network } = model;
      const has = [...objects.values()].flatMap(({ metadata, spec, status }) =>
        status?.portID === undefined
          ? []
          : [`${status.portID} ${networkPortName(CLUSTER, metadata.uid)} ${spec.mac}`],
      );
      const ports = [...network.ports.values()].map(
        ({ id, name, mac_address: mac }) => `${id} ${name} ${mac}`,
      );
      expect(has.toSorted()).toEqual(ports.toSorted());
      expect(has).toHaveLength(Math.min(objects.size, QUOTA));
    }),
    { numRuns: caseCount(HISTORIES) },
  );
});
