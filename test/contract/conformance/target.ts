/**
 * What the suite needs of one way to write an OpenWRT: drivers that were told where it is, sections
 * such as its kinds make, and a view of what the OpenWRT holds that is not the driver's. A driver
 * joins the suite as one entry of `paths.ts`.
 */
import type { DeltaInput } from '#shared/uci/delta.ts';
import type { UciDelta, UciSection } from '#shared/uci/model.ts';
import type { Driver } from '../../../agent/openwrt/driver.ts';
import type { DeviceSection } from '../../openwrt/checks/uci.ts';

export type WritePath = {
  /** As the tests' names say it. */
  name: string;
  open: () => Promise<Target>;
  fixture: Fixture;
  /** Sections of a big change, in a time that a test can wait. */
  bigDelta: number;
  /** After how many calls of `fingerprint` a change is noticed at the latest. */
  looks: number;
  /**
   * What this API does not let a driver promise, and why. The suite holds the driver to something
   * else then.
   */
  cannot: Partial<Record<Promised, string>>;
};

/** What not every API lets a driver promise. */
export type Promised =
  | 'any text'
  | 'other names'
  | 'all or nothing'
  | 'a change since it was read'
  | 'an unusable package'
  | 'a firewall without defaults';

export type Options = UciSection['options'];

/** Sections as the kinds of the path render them, in one package. */
export type Fixture = {
  package: string;
  /** Whether the suite made it: on a real OpenWRT there are other things too. */
  isOurs: (section: { name?: string | undefined }) => boolean;
  /**
   * Takes effect on the packets that every other one takes effect on, so that their order matters.
   */
  rule: (name: string, options?: Options) => UciSection;
  /** A section of any text. */
  text: (name: string, value: string) => UciSection;
  /** What an option with several values goes through. */
  lists: readonly Options[];
  deltaOf: (input: DeltaInput) => UciDelta;
};

export type Target = {
  /** A driver of its own on the same OpenWRT, as after a restart of the agent. */
  driver: () => Driver;
  /** A driver that has a wrong password, or that looks where nothing listens. */
  lost: (why: 'password' | 'address') => Driver;
  /**
   * All sections of a package, in order, seen by something that is not a driver. Names as a driver
   * would give them.
   */
  sections: (packageName: string) => Promise<DeviceSection[]>;
  /**
   * Absent where the suite is a guest: what an administrator, a crash or a clock would do there is
   * not its to do.
   */
  hands?: Hands;
  /** Leaves the OpenWRT as it was found, and ends all drivers. */
  leave: () => Promise<void>;
};

export type Hands = {
  /** The text of a file in /etc/config. */
  text: (uciPackage: string) => string;
  /** As an administrator with an editor. */
  write: (uciPackage: string, text: string) => void;
  remove: (uciPackage: string) => void;
  restart: () => void;
  /** Actions per service so far, those that procd is about to do included. */
  serviceActions: () => Promise<Record<string, number>>;
};
