/**
 * What the suite needs of one way to write an OpenWRT: drivers that were told where it is, and a view of it that is not theirs.
 * A driver joins the suite as one entry of `paths.ts`.
 */
import type { Driver } from '../../../agent/openwrt/driver.ts';
import type { JudgedSection } from '../../judge/uci.ts';

export type WritePath = {
  /** As the tests' names say it. */
  name: string;
  open: () => Promise<Target>;
  holds: Holds;
};

/** What this API can store; the rest is not asked of it. */
export type Holds = {
  /** Options with several values, and values of any text. */
  lists: boolean;
  hostileValues: boolean;
  /** Sections of a big change, in a time that a test can wait. */
  bigDelta: number;
};

export type Target = {
  /** A driver of its own on the same OpenWRT, as after a restart of the agent. */
  driver: () => Driver;
  /** A driver that has a wrong password, or that looks where nothing listens. */
  lost: (why: 'password' | 'address') => Driver;
  /** All sections of a package, in order, seen by something that is not a driver. Names as a driver would give them. */
  sections: (uciPackage: string) => Promise<JudgedSection[]>;
  /** Absent where the suite is a guest: what an administrator, a crash or a clock would do there is not its to do. */
  hands?: Hands;
  /** Leaves the OpenWRT as it was found, and ends all drivers. */
  leave: () => Promise<void>;
};

export type Hands = {
  text: (uciPackage: string) => string;
  /** As an administrator with an editor. */
  write: (uciPackage: string, text: string) => void;
  remove: (uciPackage: string) => void;
  restart: () => void;
  /** Actions per service so far. */
  serviceActions: () => Record<string, number>;
};
