/**
 * A row of the fault table: what fails, what must hold beyond what always must, and how soon all is
 * well again.
 */
import type { Random } from '../run/random.ts';
import type { Fixture } from './fixture.ts';

export type Row = {
  /** On the command line, and in the test's name. */
  id: string;
  /** For people: what fails. */
  fault: string;
  /** For people: what holds in it, beside what always holds (docs/reliability.md). */
  holds: string;
  /** From the end of the fault to agreement (checks/agreement.ts), in ms. */
  boundMs: number;
  /** Roughly how long the row takes as a whole, by which the share of a commit is cut. */
  takesSeconds: number;
  /** It takes minutes: at night only, or when it is named. */
  isLong?: true;
  /** How long before the device has something in force a status may say so. Default: not at all. */
  earlyMs?: number;
  /** Nothing after it can be judged on the same installation. */
  leavesRuins?: true;
  /** Returns when the fault is over; changes go on meanwhile. @throws what did not hold */
  run: (fixture: Fixture, random: Random) => Promise<void>;
};
