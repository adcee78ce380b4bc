/**
 * What a device had when, from its journal. Since journals of minutes are asked about thousands of
 * times, each line is read once, and what it changed is kept.
 */
import { createDevice, type JournalEntry } from '../../openwrt/checks/in-force.ts';
import type { DeviceSection } from '../../openwrt/checks/uci.ts';
import { textOf } from './sections.ts';

/** Contents of one package from `ms` (since 1970) on. */
type State = {
  ms: number;
  /** Names of the sections in the file, and of those that the service took last. */
  names: ReadonlySet<string>;
  /** Texts of the sections that the service took last. */
  taken: ReadonlySet<string>;
};

export type ForeignChange = { ms: number; package: string; was: string; is: string };

export type Timeline = {
  follow: (entry: JournalEntry) => void;
  /**
   * For how long, at `at`, it has not had all of these sections in force; 0: it has them. Infinity:
   * it never had.
   */
  lackedMs: (packageName: string, texts: readonly string[], at: number) => number;
  /** Which of these names its file or its service had at `at`. */
  namesHeld: (packageName: string, names: readonly string[], at: number) => string[];
  /** The sections of others are not what a start, or an administrator, left there. */
  foreignChanges: () => readonly ForeignChange[];
  /** Texts of the sections that a package's service took last. */
  takenNow: (packageName: string) => ReadonlySet<string>;
  /** What was before `ms` is not asked for any more. */
  forget: (ms: number) => void;
};

const NOTHING: ReadonlySet<string> = new Set();
/** By whom the sections of others may be changed. */
const OTHERS = new Set(['factory', 'administrator']);

/** `isOurs`: whether a section of that name is the product's. */
export const createTimeline = (isOurs: (name: string) => boolean): Timeline => {
  const device = createDevice();
  const states = new Map<string, State[]>();
  const foreign = new Map<string, string>();
  const changes: ForeignChange[] = [];

  const judgeForeign = ({ ms, by }: JournalEntry, name: string): void => {
    const others = device.of(name).file.filter((section) => !isOurs(section.name ?? ''));
    const is = others.map(textOf).join('\n');
    const was = foreign.get(name);
    if (was === undefined || OTHERS.has(by?.call ?? '')) foreign.set(name, is);
    else if (was !== is) changes.push({ ms, package: name, was, is });
  };
  const at = (name: string, ms: number): State | undefined =>
    states.get(name)?.findLast((state) => state.ms <= ms);

  return {
    follow: (entry) => {
      const taken = device.follow(entry);
      const name = entry.event === 'write' ? entry.package : taken;
      if (name === undefined) return;
      if (entry.event === 'write') judgeForeign(entry, name);
      const held = device.of(name);
      const known = states.get(name) ?? [];
      states.set(name, known);
      known.push({
        ms: entry.ms,
        names: new Set([...held.file, ...held.taken].map((section) => nameOf(section))),
        taken: taken === undefined ? (known.at(-1)?.taken ?? NOTHING) : textsOf(held.taken),
      });
    },
    lackedMs: (name, texts, ms) => {
      let since = Infinity;
      for (const state of (states.get(name) ?? []).toReversed()) {
        if (state.ms > ms) continue;
        if (texts.every((text) => state.taken.has(text)))
          return since === Infinity ? 0 : ms - since;
        since = state.ms;
      }
      return Infinity;
    },
    namesHeld: (name, names, ms) => names.filter((each) => at(name, ms)?.names.has(each)),
    foreignChanges: () => changes,
    takenNow: (name) => states.get(name)?.at(-1)?.taken ?? NOTHING,
    forget: (ms) => {
      for (const [name, known] of states) {
        const last = known.findLastIndex((state) => state.ms <= ms);
        if (last > 0) states.set(name, known.slice(last));
      }
    },
  };
};

const nameOf = ({ name = '' }: DeviceSection): string => name;
const textsOf = (sections: readonly DeviceSection[]): ReadonlySet<string> =>
  new Set(sections.map(textOf));
