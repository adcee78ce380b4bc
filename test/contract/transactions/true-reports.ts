/**
 * Whether reports are true, by the device's journal. Knows by hand what our rules of these tests
 * become, since it judges who compiles them.
 */
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { RuleReport } from '#shared/protocol/report.ts';
import { createDevice, type Device } from '../../openwrt/checks/in-force.ts';
import type { DeviceSection } from '../../openwrt/checks/uci.ts';

type Place = { package: string; section: string };

const PLACES: Readonly<Record<string, (name: string) => Place>> = {
  FirewallZone: (name) => ({ package: 'firewall', section: `sdewan_zone_${name}` }),
  FirewallRule: (name) => ({ package: 'firewall', section: `sdewan_rule_${name}` }),
  Mwan3Policy: (name) => ({ package: 'mwan3', section: name }),
  Mwan3Rule: (name) => ({ package: 'mwan3', section: name }),
};

export type JournalReader = { of: Device['of']; close: () => void };

/** Reads on in the journal each time that it is asked. */
export const readJournal = (journalPath: string): JournalReader => {
  const journal = openSync(journalPath, 'r');
  const device = createDevice();
  return {
    of: (name) => {
      const lines = readFileSync(journal, 'utf8').split('\n');
      for (const line of lines.filter((each) => each !== '')) device.follow(JSON.parse(line));
      return device.of(name);
    },
    close: () => closeSync(journal),
  };
};

/** One line per report that is not true. */
export const liesIn = (
  reports: readonly RuleReport[],
  { rules, left }: { rules: readonly RuleObject[]; left: ReadonlySet<string> },
  journal: JournalReader,
): readonly string[] =>
  reports.flatMap(({ kind, name, uid, state }) => {
    const place = PLACES[kind]?.(name);
    const rule = rules.find(({ metadata }) => metadata.uid === uid);
    if (place === undefined || (rule === undefined && !left.has(uid)))
      return [`nobody asked about ${kind} ${name}`];
    const { taken, file } = journal.of(place.package);
    const [inForce, there] = [taken, file].map((all) =>
      all.find((section) => section.name === place.section),
    );
    if (state === 'Applied' && !(rule && isAsAsked(inForce, rule)))
      return [`${name} is not in force`];
    if (state === 'Removed' && (inForce ?? there)) return [`${name} is not gone`];
    return [];
  });

/** In the options that the rules of these tests change. */
const isAsAsked = (section: DeviceSection | undefined, { spec }: RuleObject): boolean => {
  if (section === undefined) return false;
  const asked: object = typeof spec === 'object' && spec !== null ? spec : {};
  return ['dest_port', 'input'].every(
    (option) => !(option in asked) || section.options[option] === Reflect.get(asked, option),
  );
};
