/**
 * Random histories of pods, deletions, time, watches that lag and coordinators that die between two
 * writes, on a model of the API server: what is decided must keep addresses apart.
 */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { caseCount } from '#shared/runtime/testing.ts';
import type { NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import { decidePod, decidePort, isKept, isOfSlot, REST_MS, type Claim } from './decide.ts';
import { isReleased } from './claims.ts';
import { portName } from './subnets.ts';
import { known, networkObject, pod as podOf, port as portOf, view } from './testing.ts';

const HISTORIES = Math.min(caseCount(1_000), 10_000);
const NETWORKS = ['edge-net', 'other-net'] as const;
const SHARE = 2;
const objects = NETWORKS.map((name, at) =>
  networkObject(
    { names: [`net-${'ab'[at]}`], namespaces: ['edge', 'far'], perNamespace: SHARE },
    name,
  ),
);

type Step =
  | {
      do: 'make';
      networks: readonly string[];
      owner: number;
      fixed: number;
      far: boolean;
      keep: boolean;
    }
  /** What keeps addresses for its pods has none any more. */
  | { do: 'free'; owner: number }
  | { do: 'remove' | 'look' | 'settle'; which: number; after?: undefined }
  /** The coordinator dies after so many writes of its next look. */
  | { do: 'die'; which: number; after: number }
  | { do: 'show' }
  | { do: 'pass'; seconds: number };

const which = fc.nat(9);
const steps = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constant('make' as const),
      networks: fc.constantFrom(['net-a'], ['net-a', 'net-b'], ['net-a', 'net-a']),
      owner: fc.nat(3),
      fixed: fc.nat(8),
      far: fc.boolean(),
      keep: fc.boolean(),
    }),
    fc.record({
      do: fc.constantFrom('remove' as const, 'look' as const, 'settle' as const),
      which,
    }),
    fc.record({ do: fc.constant('die' as const), which, after: fc.nat(2) }),
    fc.record({ do: fc.constant('free' as const), owner: fc.nat(3) }),
    fc.record({ do: fc.constant('show' as const) }),
    fc.record({ do: fc.constant('pass' as const), seconds: fc.constantFrom(1, 10, 15, 25) }),
  ),
  { minLength: 20, maxLength: 80, size: 'max' },
);

const demand = (holds: boolean, message: string): void => {
  if (!holds) throw new Error(message);
};

type ModelPod = { asks: ReturnType<typeof podOf>; has: string[]; why: string };

class Model {
  now = 0;
  #made = 0;
  readonly pods = new Map<string, ModelPod>();
  /** What the API server has, and what the coordinator's watch has shown of it. */
  readonly #stored = new Map<string, NetworkPort>();
  #shown = new Map<string, NetworkPort>();
  /** Owner and time of the last release, by name. */
  /** Keepers without pods, and which address each interface of the others had last. */
  readonly #freed = new Set<string>();
  readonly #last = new Map<string, string>();
  readonly #released = new Map<string, { at: number; owner: string | undefined }>();

  run(step: Step): void {
    const chosen = <T>(of: readonly T[], at: number): T | undefined => of[at % of.length];
    if (step.do === 'make') this.#make(step);
    else if (step.do === 'free') this.#freed.add(`set-${step.owner}`);
    else if (step.do === 'pass') this.now += step.seconds * 1_000;
    else if (step.do === 'show') this.#shown = new Map(this.#stored);
    else if (step.do === 'settle') for (const port of this.#shown.values()) this.#settle(port);
    else {
      const uid = chosen([...this.pods.keys()], step.which);
      if (uid === undefined) return;
      if (step.do === 'remove') this.pods.delete(uid);
      else if (step.do === 'look') this.#look(uid, Infinity);
      else {
        this.#look(uid, step.after ?? 0);
        // Another one reads all anew.
        this.#shown = new Map(this.#stored);
      }
    }
    this.#judge();
  }

  #make({ networks, owner, fixed, far, keep }: Step & { do: 'make' }): void {
    this.#made += 1;
    const uid = `p${this.#made}`;
    const set = `set-${owner}`;
    const keeps = keep && owner > 0 && !far;
    if (keeps) this.#freed.delete(set);
    const asks = podOf(uid, {
      interfaces: [...networks],
      namespace: far ? 'far' : 'edge',
      ...(owner > 0 && { owner: set }),
      ...(keeps && { keeper: { kind: 'Deployment', name: set, uid: set } }),
      ...(!keeps &&
        fixed > 0 &&
        fixed < 4 &&
        networks.length === 1 && { fixed: `10.1.0.${fixed}` }),
    });
    this.pods.set(uid, { asks, has: [], why: 'not looked at' });
  }

  #look(uid: string, writes: number): void {
    const pod = this.pods.get(uid);
    if (pod === undefined || pod.has.length > 0) return;
    for (let left = writes; ;) {
      const decision = decidePod(pod.asks, this.#view());
      if ('wait' in decision) {
        pod.why = decision.wait.reason;
        this.#giveBack(uid);
        return;
      }
      let isWhole = true;
      for (const claim of decision.claims.filter(({ has }) => !has)) {
        if (left === 0) return;
        left -= 1;
        isWhole = this.#claim(claim) && isWhole;
      }
      if (!isWhole) continue;
      if (left === 0) return;
      this.#open(pod, decision.claims);
      return;
    }
  }

  #view() {
    const portsOf = (name: string) =>
      [...this.#shown.values()].filter(({ spec }) => spec.network === name);
    return view(objects.map((object) => known({ object, ports: portsOf(object.metadata.name) })));
  }

  #open(pod: ModelPod, claims: readonly Claim[]): void {
    pod.has = claims.map(({ spec }) => portName(spec));
    this.#judgeKept(claims);
    for (const port of this.#stored.values())
      if (isKept(port) && isOfSlot(port, pod.asks)) this.#release(port);
  }

  #giveBack(uid: string): void {
    for (const [name, port] of this.#stored)
      if (port.spec.claim.uid === uid && !isReleased(port) && !isKept(port)) {
        if (port.spec.claim.before === undefined) this.#drop(name);
        else this.#store({ ...port, status: { keptSince: new Date(this.now).toISOString() } });
      }
  }

  #judgeKept(claims: readonly Claim[]): void {
    for (const { spec, ask } of claims.filter((one) => one.spec.claim.keeper)) {
      const name = portName(spec);
      const slot = `${spec.claim.keeper?.uid} ${spec.network} ${ask.interface}`;
      demand(
        (this.#last.get(slot) ?? name) === name,
        `${slot} had ${this.#last.get(slot)}, has ${name}`,
      );
      this.#last.set(slot, name);
    }
  }

  /** As the API server answers: 409 where the object is there, or is another than was looked at. */
  #claim({ spec, resting }: Claim): boolean {
    const name = portName(spec);
    const there = this.#stored.get(name);
    const isTaken = resting ? there !== resting : there !== undefined;
    if (!isTaken) {
      const before = this.#released.get(name);
      if (before && before.owner !== spec.claim.owner)
        demand(this.now - before.at >= REST_MS, `${name} has not rested`);
      this.#store({ ...portOf(1, 'x'), metadata: { ...portOf(1, 'x').metadata, name }, spec });
      return true;
    }
    if (there) this.#shown.set(name, there);
    else this.#shown.delete(name);
    return false;
  }

  #store(port: NetworkPort): void {
    this.#stored.set(port.metadata.name, port);
    this.#shown.set(port.metadata.name, port);
  }

  #drop(name: string): void {
    this.#stored.delete(name);
    this.#shown.delete(name);
  }

  #settle(port: NetworkPort): void {
    if (this.#stored.get(port.metadata.name) !== port) return;
    const pod = this.pods.has(port.spec.claim.uid) ? { node: undefined } : undefined;
    const { step } = decidePort(port, { now: this.now, pod, isNodeSilent: () => false });
    if (step === 'delete') this.#drop(port.metadata.name);
    if (step !== 'release') return;
    const { keeper } = port.spec.claim;
    if (!keeper || this.#freed.has(keeper.uid)) this.#release(port);
    else if (!isKept(port))
      this.#store({ ...port, status: { keptSince: new Date(this.now).toISOString() } });
  }

  #release(port: NetworkPort): void {
    const { keeper, owner, interface: device } = port.spec.claim;
    this.#last.delete(`${keeper?.uid} ${port.spec.network} ${device}`);
    this.#released.set(port.metadata.name, { at: this.now, owner });
    this.#store({ ...port, status: { releasedAt: new Date(this.now).toISOString() } });
  }

  #judge(): void {
    const users = new Map<string, string>();
    for (const [uid, { has }] of this.pods)
      for (const name of has) {
        demand((users.get(name) ?? uid) === uid, `${name} has two pods`);
        users.set(name, uid);
        demand(this.#stored.get(name)?.spec.claim.uid === uid, `${name} is not of ${uid}`);
      }
    const shareOf = ({ spec }: NetworkPort) => `${spec.claim.namespace} in ${spec.network}`;
    for (const [share, those] of Map.groupBy(this.#stored.values(), shareOf))
      demand(those.length <= SHARE, `${share} has ${those.length}`);
  }

  /** Until nothing changes any more. */
  settleAll(): void {
    for (let round = 0; round < 4; round += 1) {
      this.#shown = new Map(this.#stored);
      for (const port of this.#shown.values()) this.#settle(port);
      this.now += REST_MS;
      for (const uid of this.pods.keys()) this.#look(uid, Infinity);
      this.#judge();
    }
  }

  freeAll(): void {
    for (const owner of [1, 2, 3]) this.#freed.add(`set-${owner}`);
  }

  get claims(): number {
    return this.#stored.size;
  }
}

it('keep addresses apart and let them rest, and each pod in the end has all of its own or a reason', () => {
  fc.assert(
    fc.property(steps, (history) => {
      const model = new Model();
      for (const step of history) model.run(step);
      model.settleAll();
      model.freeAll();
      model.settleAll();
      for (const { has, why } of model.pods.values())
        expect(has.length > 0 ? 'has them' : why).toMatch(
          /^(has them|NoFreeAddress|FixedAddressNotFree|PodBefore)$/,
        );
      const claims = [...model.pods.values()].reduce((sum, { has }) => sum + has.length, 0);
      expect(model.claims).toBe(claims);
      model.pods.clear();
      model.settleAll();
      expect(model.claims).toBe(0);
    }),
    { numRuns: HISTORIES },
  );
});
