/**
 * An OpenWRT in memory, on the time of a walk, and the driver that an agent has for it: it can be
 * away, hang, refuse, restart or be changed by others.
 */
import {
  OpenwrtBlockedError,
  OpenwrtError,
  OpenwrtUnreachableError,
  type Driver,
} from '../../../agent/openwrt/driver.ts';
import { ASSUMED } from '#shared/resources/capabilities.ts';
import { applyDelta } from '#shared/uci/delta.ts';
import type { UciDelta, UciPackage, UciSection } from '#shared/uci/model.ts';
import { createUnanswered } from '../../../agent/io/unanswered.ts';
import type { Process } from './process.ts';
import type { Time } from './time.ts';
import { FACTORY, sectionsOf } from './vocabulary.ts';

export type Device = {
  packages: Map<string, UciPackage>;
  /** Sections of an administrator, by package, as they must stay. */
  foreign: Map<string, readonly UciSection[]>;
  isUp: boolean;
  hangs: boolean;
  /** Names of sections that it refuses. */
  refuses: ReadonlySet<string>;
  /** With the files of the image. */
  startAnew: () => void;
  /** An administrator adds a section. */
  addForeign: (name: string) => void;
  /** An administrator removes one of ours. */
  removeOne: (pick: number) => void;
  sections: () => readonly UciSection[];
  driverFor: (process: Process) => Driver;
};

const HANGS_FOR_MS = 10_000;

export type DeviceOptions = {
  time: Time;
  /** Milliseconds that a change takes with its reloads. */
  reloadMs: () => number;
  /** What it holds has changed. */
  onChange: () => void;
};

export const createDevice = ({ time, reloadMs, onChange }: DeviceOptions): Device => {
  let starts = 0;
  let version = 0;
  const changed = (): void => {
    version += 1;
    onChange();
  };
  const fingerprint = (): string => `${starts}.${version}`;
  const device: Device = {
    packages: new Map(),
    foreign: new Map(),
    isUp: true,
    hangs: false,
    refuses: new Set(),
    startAnew: () => {
      starts += 1;
      const image = Object.entries(FACTORY).map(([name, text]): [string, UciPackage] => [
        name,
        { name, sections: sectionsOf(text) },
      ]);
      device.packages = new Map(image);
      device.foreign = new Map(image.map(([name, { sections }]) => [name, sections]));
      changed();
    },
    addForeign: (name) => {
      const section = { name, anonymous: false, type: 'rule', options: { name, target: 'ACCEPT' } };
      if (device.foreign.get('firewall')?.some((other) => other.name === name)) return;
      const { sections = [] } = device.packages.get('firewall') ?? {};
      device.packages.set('firewall', { name: 'firewall', sections: [...sections, section] });
      device.foreign.set('firewall', [...(device.foreign.get('firewall') ?? []), section]);
      changed();
    },
    removeOne: (pick) => {
      const ours = [...device.packages.values()].flatMap(({ name, sections }) =>
        sections
          .filter((section) => !device.foreign.get(name)?.some((one) => one.name === section.name))
          .map((section) => ({ name, section })),
      );
      const chosen = ours[pick % Math.max(1, ours.length)];
      if (!chosen) return;
      const { sections = [] } = device.packages.get(chosen.name) ?? {};
      device.packages.set(chosen.name, {
        name: chosen.name,
        sections: sections.filter((section) => section !== chosen.section),
      });
      changed();
    },
    sections: () => [...device.packages.values()].flatMap(({ sections }) => sections),
    driverFor: (process) => driverOf(process),
  };

  const driverOf = (process: Process): Driver => {
    let known: string | undefined;
    const unanswered = createUnanswered(process.clock);
    /**
     * What is carried out in OpenWRT after some time, whether or not the agent is still alive to
     * receive the answer.
     */
    const exchange = <T>(what: string, ms: number, work: () => T): Promise<T> => {
      const answer = new Promise<T>((resolve, reject) => {
        const fail = (): void => reject(new OpenwrtUnreachableError(what, 'no answer'));
        const failInTime = (): void => {
          time.after(device.hangs ? HANGS_FOR_MS : 2, fail);
        };
        if (device.hangs || !device.isUp) {
          failInTime();
          return;
        }
        const run = starts;
        time.after(ms / 2, () => {
          if (!device.isUp || starts !== run || device.hangs) {
            failInTime();
            return;
          }
          let result: () => void;
          try {
            const value = work();
            result = () => resolve(value);
          } catch (error) {
            result = () => reject(error);
          }
          time.after(ms / 2, () => {
            if (starts === run && device.isUp) result();
            else reject(new OpenwrtError(what, 'it ended on the way'));
          });
        });
      });
      return process.receive(answer);
    };
    const read = () => ({
      packages: new Map(device.packages),
      unusable: new Map(),
      fingerprint: fingerprint(),
      incarnation: String(starts),
      capabilities: ASSUMED,
    });
    return {
      name: 'ubus',
      fingerprint: () => unanswered.during(() => exchange('look', 4, fingerprint)),
      read: async () => {
        const found = await unanswered.during(() => exchange('read', 10, read));
        known = found.fingerprint;
        return found;
      },
      rename: async () => ({ outcome: 'refused', message: 'not in these walks' }),
      apply: async (deltas) => {
        const result = await exchange('apply', reloadMs(), () => {
          if (fingerprint() !== known)
            throw new OpenwrtBlockedError('apply', 'somebody was faster');
          const next = applied(device.packages, deltas);
          const refused = [...next.values()]
            .flatMap(({ sections }) => sections.map(({ name }) => name))
            .filter((name) => device.refuses.has(name));
          const [first] = deltas;
          if (refused.length > 0 && first)
            return {
              outcome: 'rejected' as const,
              package: first.package,
              message: 'it does not like that',
              sections: [],
            };
          device.packages = next;
          changed();
          const names = new Set(deltas.map((delta) => delta.package));
          return {
            outcome: 'done' as const,
            observed: new Map([...next].filter(([name]) => names.has(name))),
            fingerprint: fingerprint(),
            warnings: new Map(),
          };
        });
        if (result.outcome === 'done') known = result.fingerprint;
        return result;
      },
      information: async () => undefined,
      unansweredSince: unanswered.since,
      close: async () => undefined,
    };
  };

  device.startAnew();
  return device;
};

const applied = (
  packages: ReadonlyMap<string, UciPackage>,
  deltas: readonly UciDelta[],
): Map<string, UciPackage> => {
  const next = new Map(packages);
  for (const delta of deltas) {
    const there = next.get(delta.package) ?? { name: delta.package, sections: [] };
    next.set(delta.package, applyDelta(there, delta));
  }
  return next;
};
