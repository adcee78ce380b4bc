/** What the agent knows of itself now: from its parts, for reports, `/readyz` and metrics. */
import { isDeepStrictEqual } from 'node:util';
import {
  DRIFT_TOLD_MS,
  MAX_DRIFTS,
  MAX_MESSAGE_LENGTH,
  MAX_UNREAD_PACKAGES,
  type FleetWord,
  type Drift,
  type OpenwrtState,
  type RuleReport,
  type UnreadOthers,
} from '#shared/protocol/report.ts';
import { sentenceOf } from '#shared/protocol/reasons.ts';
import { bounded, type Information } from '#shared/protocol/information.ts';
import { few } from '#shared/util/few.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Driver } from '../openwrt/driver.ts';
import type { Attempt, Moment } from '../reconcile/loop.ts';
import type { DriftedSection } from '../reconcile/drift.ts';
import { NOTHING_KNOWN, type RuleStates } from '../reconcile/rule-states.ts';
import type { RuleSource } from '../inputs/rules.ts';
import { buildReports } from './build.ts';
import { createFreshness, type Reading, type Verified } from './freshness.ts';

export type Snapshot = {
  openwrt: OpenwrtState;
  unwatchedKinds: string[];
  rules: readonly RuleReport[];
  /** Undefined until it was seen. */
  information?: Information | undefined;
  /** UCI packages of whose comments the coordinator does not know yet. */
  commentsLost?: readonly string[];
  /** Why what is reported of OpenWRT may not hold any more; '' when it does. */
  doubt: string;
  /** Why the agent cannot write its state folder; '' when it can. */
  stateFolder?: string;
  unreadOthers?: readonly UnreadOthers[];
  verified: Verified | undefined;
  /** Those of the last minutes. */
  drifts: readonly Drift[];
  fleet: FleetWord;
};

export type AgentStatus = {
  setStanding: (standing: RuleStates) => void;
  addAttempt: (attempt: Attempt, begun: Moment) => void;
  addDrift: (sections: readonly DriftedSection[]) => void;
  /** Until the signal aborts. */
  run: (signal: AbortSignal) => Promise<void>;
  snapshot: () => Snapshot;
  /** How many left-overs each package of our kinds holds. */
  leftOvers: () => ReadonlyMap<string, number>;
  isPaused: () => boolean;
  /** The parts that keep the agent from being ready, each with a reason. Failing rules are none. */
  notReady: () => ReadonlyMap<string, string>;
};

export type StatusDeps = {
  driver: Pick<Driver, 'name' | 'unansweredSince'>;
  source: Pick<RuleSource, 'unknownKinds' | 'unwatchedKinds'>;
  information: () => Information | undefined;
  /** Reports of what is no rule. */
  otherReports: (now: { reading: Reading; problem: string }) => readonly RuleReport[];
  otherUnwatchedKinds: () => readonly string[];
  commentsLost: () => readonly string[];
  /** What a coordinator has ordered, as far as it is done. */
  fleet: () => FleetWord;
  /** Why the files of the probes cannot be written. */
  stateFolder: () => string | undefined;
  /** Something that a snapshot or readiness shows may have changed. */
  onChange: () => void;
  clock: Clock;
};

export const createStatus = (deps: StatusDeps): AgentStatus => {
  const { driver, source, onChange, clock } = deps;
  let standing: RuleStates = NOTHING_KNOWN;
  let passed = false;
  let driftRepairs = 0;
  let drifts: readonly Drift[] = [];
  let problem = 'the agent has not reached OpenWRT yet';
  let stateFolder = '';
  const freshness = createFreshness({ clock, unansweredSince: driver.unansweredSince, onChange });
  const shown = () => ({
    reading: freshness.reading(),
    doubt: freshness.doubt(),
    since: freshness.verified()?.since,
    secondsSeen: freshness.secondsSeen(),
    reachable: freshness.reachable(),
    problem,
    passed,
  });

  const problemNow = (): string =>
    freshness.reading() === 'holds' ? problem : problem || freshness.doubt();

  return {
    setStanding: (next) => {
      standing = next;
      freshness.read();
      onChange();
    },
    addAttempt: (attempt, begun) => {
      const before = shown();
      freshness.add(attempt, begun);
      problem = 'message' in attempt ? attempt.message : '';
      stateFolder = attempt.outcome === 'hindered' && attempt.stateFolder ? attempt.message : '';
      passed ||= attempt.outcome === 'passed' && !standing.paused;
      if (!isDeepStrictEqual(before, shown())) onChange();
    },
    addDrift: (sections) => {
      driftRepairs += 1;
      const at = clock.now();
      const told = sections.map((each) => ({
        ...each,
        package: each.package.slice(0, 64),
        section: each.section.slice(0, 128),
        at,
      }));
      drifts = [...drifts, ...told].slice(-MAX_DRIFTS);
    },
    run: freshness.watch,
    snapshot: () => {
      const now = { reading: freshness.reading(), problem: problemNow() };
      const information = deps.information();
      return {
        openwrt: {
          reachable: now.reading !== 'silent',
          driver: driver.name,
          message: now.problem.slice(0, MAX_MESSAGE_LENGTH),
          driftRepairs,
        },
        unwatchedKinds: [...source.unwatchedKinds().keys(), ...deps.otherUnwatchedKinds()],
        rules: [
          ...buildReports({ standing, ...now, tunnels: information?.tunnels }),
          ...deps.otherReports(now),
        ],
        information: informationWith(standing, information),
        commentsLost: deps.commentsLost(),
        fleet: deps.fleet(),
        doubt: freshness.doubt().slice(0, MAX_MESSAGE_LENGTH),
        drifts: drifts.filter(({ at }) => clock.now() - at < DRIFT_TOLD_MS),
        stateFolder: (stateFolder || (deps.stateFolder() ?? '')).slice(0, MAX_MESSAGE_LENGTH),
        unreadOthers: unreadOthersIn(standing),
        verified: freshness.verified(),
      };
    },
    leftOvers: () => {
      const counts = new Map([...standing.packages.values()].map((name) => [name, 0]));
      for (const leftOver of standing.leftOvers)
        counts.set(leftOver.package, (counts.get(leftOver.package) ?? 0) + 1);
      return counts;
    },
    isPaused: () => standing.paused,
    notReady: () => {
      const parts = new Map<string, string>();
      const unknown = source.unknownKinds();
      if (unknown.length > 0) parts.set('rules', `not listed yet: ${unknown.join(', ')}`);
      if (!freshness.reachable()) parts.set('openwrt', problem);
      if (!passed) {
        const paused = standing.paused ? sentenceOf('Paused') : 'not completed yet';
        parts.set('first pass', problem || paused);
      }
      return parts;
    },
  };
};

/** In the same words as long as the cause is the same. */
const unreadOthersIn = ({ unreadOthers }: RuleStates): UnreadOthers[] =>
  [...unreadOthers].slice(0, MAX_UNREAD_PACKAGES).map(([name, sections]) => {
    const each = [...sections].map(
      ([section, why]) => `${section.slice(0, 24)} (${why.slice(0, 80)})`,
    );
    return { package: name.slice(0, 64), sections: few(each.sort()) };
  });

const informationWith = (
  { leftOvers }: RuleStates,
  information: Information | undefined,
): Information | undefined =>
  information &&
  bounded({
    ...information,
    leftOvers: leftOvers.map(({ package: uciPackage, type, name }) => ({
      package: uciPackage.slice(0, 64),
      type: type.slice(0, 64),
      name: name.slice(0, 128),
    })),
  });
