/**
 * Kubernetes, agents and a coordinator around the stage function, for random histories. It says
 * what a Deployment controller does with that maxSurge, maxUnavailable 0 and minReadySeconds, and
 * throws where a call of ours takes the last traffic away or gives it to a pod without its rules.
 */
import { isConfirmed, isFit, samePlaces, type Distances } from '../distances.ts';
import { soakSecondsOf } from '../deployment.ts';
import { steer, type Action, type RollOutStep, type Memory } from '../decide.ts';
import type { FleetPod, MissingRule } from '../pod.ts';

export type Step =
  | { do: 'time'; seconds: number }
  /** A look of which only the first calls are made. */
  | { do: 'look'; calls: number }
  | { do: 'template'; bad: boolean }
  /** Bad: for every set. */
  | { do: 'rule'; rule: number; bad: boolean }
  | { do: 'agents'; pod: number; silent: boolean }
  | { do: 'crash' | 'delete'; pod: number }
  /** People give the set that is staged the traffic. */
  | { do: 'promote' }
  | { do: 'coordinator'; runs: boolean };

type Pod = {
  name: string;
  set: string;
  runsAt: number;
  gate: FleetPod['gate'];
  openedAt: number;
  active: boolean;
  silent: boolean;
  readySince: number | undefined;
  /** What its agent has in force. */
  actual: number | undefined;
  createdAt: number;
  /** By rule: the revision of which its agent has spoken. */
  said: Map<number, { revision: number; refused: boolean }>;
};

const SECOND = 1_000;
const START_MS = 3 * SECOND;
/** Until its kubelet has come to a gate that was opened. */
const KUBELET_MS = 2 * SECOND;
/** The same for what the coordinator has read: the kubelet may come to the gate before it acts. */
const SEEN_MS = KUBELET_MS + SECOND;
const DEADLINE_MS = 120 * SECOND;
const HAND_OVER_MS = 20 * SECOND;
const RULES = 3;

/** As the spec has it. */
type Kind = { replicas: number; podByPod: boolean; soakSeconds: number };

export class RollOutModel {
  readonly #replicas: number;
  readonly #podByPod: boolean;
  readonly #soakMs: number;
  #now = 0;
  #pods: Pod[] = [];
  #made = 0;
  #memory: Memory = {};
  /** As they are written: agents take them with their next report. */
  #distances: Distances = new Map();
  #runs = true;
  /** What people want, and what the Deployment has. Templates in `#bad` never get rule 0. */
  #asked = 0;
  #has = 0;
  readonly #bad = new Set<number>();
  #given: number | undefined;
  #promoted: string | undefined;
  readonly #rules = Array.from({ length: RULES }, () => ({ revision: 1, bad: false }));
  /** Something else than a template or a rule has gone wrong: a roll-out may have failed by it. */
  #disturbed = false;
  rolled = 0;
  #fewestReady = Infinity;

  constructor({ replicas, podByPod, soakSeconds }: Kind) {
    this.#replicas = replicas;
    this.#podByPod = podByPod;
    this.#soakMs = soakSecondsOf({ soakSeconds }) * SECOND;
  }

  begin(): void {
    this.#pass(30);
    this.#fewestReady = Infinity;
  }

  take(step: Step): void {
    this.#disturbed ||= !['time', 'look', 'template', 'rule', 'promote'].includes(step.do);
    switch (step.do) {
      case 'time':
        return this.#pass(step.seconds);
      case 'look':
        return this.#look(step.calls);
      case 'template':
        this.#asked += 1;
        if (step.bad) this.#bad.add(this.#asked);
        return undefined;
      case 'rule':
        return this.#changeRule(step);
      case 'agents':
        return this.#change(step.pod, (pod) => {
          pod.silent = step.silent;
        });
      case 'crash':
        return this.#change(step.pod, (pod) => {
          pod.runsAt = this.#now + START_MS;
          pod.actual = undefined;
        });
      case 'delete':
        this.#pods = this.#pods.filter((_, index) => index !== step.pod);
        return undefined;
      case 'promote':
        this.#promoted = promotionIn(this.#memory);
        return undefined;
      case 'coordinator':
        this.#runs = step.runs;
        return undefined;
    }
  }

  #changeRule({ rule, bad }: { rule: number; bad: boolean }): void {
    const revision = (this.#rules[rule]?.revision ?? 0) + 1;
    this.#rules[rule] = { revision, bad };
  }

  #change(index: number, change: (pod: Pod) => void): void {
    const pod = this.#pods[index];
    if (pod) change(pod);
  }

  /** Nothing fails any more, and time passes. */
  settle(): void {
    this.#runs = true;
    for (const pod of this.#pods) pod.silent = false;
    this.#pass((3 * (DEADLINE_MS + this.#soakMs)) / SECOND);
  }

  /** At any second since it began. */
  expectNoFewerThanReplicas(): void {
    if (this.#fewestReady < this.#replicas)
      throw new Error(`${this.#fewestReady} pods of ${this.#replicas} are ready`);
  }

  expectToHaveEnded(): void {
    const { stage, memory } = this.#steer();
    const wanted = setOf(this.#has);
    const isDone = stage === 'Current' && this.#has === this.#asked;
    const isBlamed = this.#disturbed || this.#bad.has(this.#asked);
    const isBack = stage === 'Failed' && this.#given === this.#asked && isBlamed;
    if (!isDone && !isBack) throw new Error(`it ended as ${stage}: ${JSON.stringify(memory)}`);
    if (memory.current !== wanted) throw new Error(`${memory.current} serves instead of ${wanted}`);
    const wrong = this.#pods.filter((pod) => pod.set !== wanted || !this.#isReady(pod));
    if (wrong.length > 0 || this.#pods.length !== this.#replicas || !this.#isPlaced())
      throw new Error(
        `at the end: ${JSON.stringify({ pods: this.#pods, placed: [...this.#distances] })}`,
      );
  }

  /** The nearest has the label, and each agent has its distance in force. */
  #isPlaced(): boolean {
    const placed = this.#pods
      .map(({ name }) => this.#distances.get(name)?.distance ?? -1)
      .toSorted((one, other) => one - other);
    const wanted = [0, 1, 2, 2].slice(0, this.#replicas);
    return (
      placed.join() === wanted.join() &&
      this.#pods.every(
        ({ name, active }) => active === (this.#distances.get(name)?.distance === 0),
      ) &&
      this.#seenPods().every((pod) => isConfirmed(pod, this.#distances))
    );
  }

  /** Those that an agent has in force as it is wanted. */
  expectOneNearest(): void {
    const both = this.#pods.filter(
      ({ name, actual }) => actual === 0 && this.#distances.get(name)?.distance === 0,
    );
    if (both.length > 1) throw new Error(`two have distance 0: ${JSON.stringify(both)}`);
  }

  /** What the coordinator has seen. */
  #expectNearestThatCan(pods: readonly FleetPod[]): void {
    const zero = pods.find(({ name }) => this.#distances.get(name)?.distance === 0);
    if (pods.length > 0 && zero === undefined) throw new Error('no pod has distance 0');
    if (zero && !isFit(zero) && pods.some((pod) => pod.ready && isFit(pod)))
      throw new Error(`${zero.name} is nearest, and cannot have the traffic`);
  }

  #pass(seconds: number): void {
    for (let second = 0; second < seconds; second += 1) {
      this.#now += SECOND;
      for (const pod of this.#pods) this.#report(pod);
      this.#watch();
      if (this.#runs) this.#look(Infinity);
      this.#kubernetes();
      const ready = this.#pods.filter((pod) => this.#isReady(pod));
      this.#fewestReady = Math.min(this.#fewestReady, ready.length);
    }
  }

  /** An agent takes each rule in turn, a second each. */
  #report(pod: Pod): void {
    if (pod.silent || pod.runsAt > this.#now) return;
    pod.actual = this.#distances.get(pod.name)?.distance ?? pod.actual;
    const next = this.#rules.findIndex(
      ({ revision }, index) => pod.said.get(index)?.revision !== revision,
    );
    const rule = this.#rules[next];
    if (rule) pod.said.set(next, { revision: rule.revision, refused: this.#refuses(pod, next) });
  }

  #refuses(pod: Pod, index: number): boolean {
    const isBadSet = index === 0 && [...this.#bad].some((bad) => setOf(bad) === pod.set);
    return isBadSet || (this.#rules[index]?.bad ?? false);
  }

  #look(calls: number): void {
    this.#forgetFailure();
    const before = this.#memory;
    const superseded = this.#order();
    const seen = this.#seenPods();
    const decision = this.#steer(superseded);
    const { current: was } = before;
    if (was !== undefined && decision.memory.current !== was) this.rolled += 1;
    const isPlaced = samePlaces(decision.distances, this.#distances);
    if (isPlaced) for (const action of decision.actions.slice(0, calls)) this.#call(action, before);
    // The status is written last, and before anything is done by new distances.
    if (calls !== Infinity) return;
    this.#distances = decision.distances;
    this.#remember(decision.memory);
    this.#expectNearestThatCan(seen);
    if (!isPlaced) this.#look(calls);
  }

  #remember(memory: Memory): void {
    if (memory.failed !== undefined && this.#memory.failed === undefined) this.#given = this.#has;
    this.#memory = memory;
  }

  /** What has failed is tried again when the template changes. */
  #forgetFailure(): void {
    if (this.#given === undefined || this.#given === this.#asked) return;
    this.#given = undefined;
    const { failed: _failed, ...memory } = this.#memory;
    this.#memory = memory;
  }

  /** Writes the template that the Deployment should have; true: it has to wait for that. */
  #order(): boolean {
    const { current } = this.#memory;
    const desired = this.#given === undefined ? this.#asked : numberOf(current ?? '0');
    if (desired === this.#has) return false;
    const has = setOf(this.#has);
    if (this.#podByPod && this.#givesBack()) {
      this.#has = numberOf(current ?? '0');
      return false;
    }
    if (has !== current && this.#pods.some(({ gate, set }) => gate === 'open' && set === has))
      return true;
    this.#has = desired;
    return false;
  }

  #givesBack(): boolean {
    const { current } = this.#memory;
    return this.#pods.some(({ gate, set }) => gate === 'open' && set !== current);
  }

  #steer(superseded = false): RollOutStep {
    return steer(
      {
        now: this.#now,
        replicas: this.#replicas,
        wanted: setOf(this.#has),
        superseded,
        soakMs: this.#soakMs,
        deadlineMs: DEADLINE_MS,
        paused: false,
        promoted: this.#isPromoted(),
        podByPod: this.#podByPod,
        failure: undefined,
        handOverMs: HAND_OVER_MS,
        distances: this.#distances,
        pods: this.#seenPods(),
      },
      this.#memory,
    );
  }

  #call(action: Action, { current }: Memory): void {
    const pod = this.#pods.find(({ name }) => name === action.pod);
    if (!pod) return;
    const isServed = this.#pods.some((each) => this.#isReady(each));
    const isLabelled = this.#pods.some((each) => this.#isReady(each) && each.active);
    if (action.do === 'open') {
      this.#mayBeOpened(pod, current);
      pod.gate = 'open';
      pod.openedAt = this.#now;
    } else if (action.do === 'close') pod.gate = 'closed';
    else if (action.do !== 'rate') pod.active = action.do === 'activate';
    if (isServed && !this.#pods.some((each) => this.#isReady(each)))
      throw new Error(`${action.do} ${action.pod} took the traffic from all`);
    if (isLabelled && !this.#pods.some((each) => this.#isReady(each) && each.active))
      throw new Error(`${action.do} ${action.pod} took the label from all that serve`);
  }

  #mayBeOpened(pod: Pod, current: string | undefined): void {
    const others = this.#pods.filter(({ set }) => set === current);
    if (pod.set === current || !others.some((each) => this.#isReady(each))) return;
    if (!this.#isPromoted()) this.#mustBeConfigured(pod, others);
    if (!isConfirmed(this.#seen(pod), this.#distances))
      throw new Error(`${pod.name} has the traffic before it has confirmed its distance`);
  }

  #isPromoted(): boolean {
    return this.#promoted !== undefined && this.#promoted === promotionIn(this.#memory);
  }

  #mustBeConfigured(pod: Pod, others: readonly Pod[]): void {
    const heard = others.filter(({ silent, runsAt }) => !silent && runsAt <= this.#now);
    for (const [rule, { reason }] of this.#missing(pod)) {
      const isExcused =
        heard.length > 0 && heard.every((other) => this.#missing(other).get(rule)?.refused);
      if (!isExcused) throw new Error(`${pod.name} has the traffic without ${rule}: ${reason}`);
    }
  }

  #missing(pod: Pod): Map<string, MissingRule> {
    return new Map(
      this.#rules.flatMap(({ revision }, index): [string, MissingRule][] => {
        const said = pod.said.get(index);
        const isSaid = said?.revision === revision;
        if (isSaid && !said.refused) return [];
        return [[`rule ${index}`, { refused: isSaid, reason: isSaid ? 'refused' : 'awaited' }]];
      }),
    );
  }

  #isReady(pod: Pod): boolean {
    return pod.runsAt <= this.#now && pod.gate !== 'closed' && !this.#isOpening(pod);
  }

  #isOpening({ gate, openedAt }: Pod, forMs = KUBELET_MS): boolean {
    return gate === 'open' && this.#now - openedAt < forMs;
  }

  #seenPods(): FleetPod[] {
    return this.#pods.map((pod) => this.#seen(pod));
  }

  /** Silence of most of them is the coordinator's. */
  #isUnheard({ silent, runsAt }: Pod): boolean {
    const running = this.#pods.filter((pod) => pod.runsAt <= this.#now);
    const heard = running.filter((pod) => !pod.silent);
    return silent && runsAt <= this.#now && 2 * heard.length >= running.length;
  }

  #seen(pod: Pod): FleetPod {
    const { name, set, gate, active, silent, runsAt, actual, createdAt } = pod;
    const opening = this.#isOpening(pod, SEEN_MS);
    const ready = this.#isReady(pod) && !opening;
    return {
      actual,
      createdAt,
      startsAt: createdAt,
      unheard: this.#isUnheard(pod),
      weight: 0,
      deletionCost: 0,
      leaving: false,
      name,
      set,
      gate,
      opening,
      active,
      ready,
      readySince: ready ? pod.readySince : undefined,
      containersReady: runsAt <= this.#now,
      notReady: 'it starts',
      notReadySince: runsAt <= this.#now ? undefined : runsAt - START_MS,
      link: silent || runsAt > this.#now ? 'Silent' : 'Connected',
      missing: this.#missing(pod),
    };
  }

  /**
   * What the Deployment controller knows of the pods at its next look: calls that are made until
   * then come too late for it.
   */
  #watch(): void {
    for (const pod of this.#pods)
      pod.readySince = this.#isReady(pod) ? (pod.readySince ?? this.#now) : undefined;
  }

  /** One look of the Deployment controller and its ReplicaSets. Conditions have whole seconds. */
  #kubernetes(): void {
    const set = setOf(this.#has);
    const old = this.#pods.filter((pod) => pod.set !== set);
    const own = this.#pods.filter((pod) => pod.set === set);
    const available = (pods: readonly Pod[]): Pod[] =>
      pods.filter(
        ({ readySince }) =>
          readySince !== undefined && this.#now - readySince >= this.#soakMs - SECOND,
      );
    const unavailable = own.length - available(own).length;
    const excess = this.#pods.length - this.#replicas - unavailable;
    if (old.length > 0 && excess > 0) {
      const first = [
        ...old.filter(({ readySince }) => readySince === undefined),
        ...old.filter(({ readySince }) => readySince !== undefined),
      ];
      const spare = available(this.#pods).length - this.#replicas;
      const going = new Set(
        first
          .slice(0, excess)
          .filter(({ readySince }, index) => readySince === undefined || index < spare),
      );
      this.#pods = this.#pods.filter((pod) => !going.has(pod));
    }
    const surge = this.#podByPod ? 1 : this.#replicas;
    const room = this.#replicas + surge - this.#pods.length;
    const lacking = this.#replicas - this.#pods.filter((pod) => pod.set === set).length;
    for (let made = 0; made < Math.min(room, lacking); made += 1) this.#make(set);
  }

  #make(set: string): void {
    const { current } = this.#memory;
    const isHeldBack =
      current !== undefined && set !== current && this.#pods.some((pod) => pod.set === current);
    this.#made += 1;
    this.#pods.push({
      name: `${set}-${this.#made}`,
      set,
      runsAt: this.#now + START_MS,
      gate: isHeldBack ? 'closed' : 'none',
      openedAt: -Infinity,
      active: false,
      silent: false,
      actual: undefined,
      createdAt: this.#made,
      readySince: undefined,
      said: new Map(),
    });
  }
}

const promotionIn = ({ staged }: Memory): string | undefined =>
  staged && `${staged.set}/${staged.since}`;

const setOf = (template: number): string => String(template);
const numberOf = (set: string): number => Number(set);
