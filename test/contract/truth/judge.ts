/** Whether reports are true, by the device's journal. Knows by hand what our rules of these tests become, since it judges who compiles them. */
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { RuleReport } from '#shared/protocol/report.ts';
import { readUci, type JudgedSection } from '../../judge/uci.ts';
import type { JournalEntry } from '../../openwrt-simulator/journal.ts';

type Place = { package: string; section: string };

const PLACES: Readonly<Record<string, (name: string) => Place>> = {
  FirewallZone: (name) => ({ package: 'firewall', section: `sdewan_zone_${name}` }),
  FirewallRule: (name) => ({ package: 'firewall', section: `sdewan_rule_${name}` }),
  Mwan3Policy: (name) => ({ package: 'mwan3', section: name }),
  Mwan3Rule: (name) => ({ package: 'mwan3', section: name }),
};

/** What the service of a package has taken, and what the file holds. */
export type Held = { taken: readonly JudgedSection[]; file: readonly JudgedSection[] };
export type Witness = { of: (uciPackage: string) => Held; close: () => void };

/** Reads on in the journal each time that it is asked. */
export const createWitness = (journalPath: string): Witness => {
  const journal = openSync(journalPath, 'r');
  const held = new Map<string, Held>();
  const heldNow = (name: string): Held => held.get(name) ?? { taken: [], file: [] };
  const take = (entry: JournalEntry): void => {
    if (entry.event === 'write') {
      const file = readUci(entry.text ?? '');
      // A device starts with its files in force.
      const taken = entry.by.call === 'factory' ? file : heldNow(entry.package).taken;
      held.set(entry.package, { file, taken });
    }
    if (entry.event === 'reload' && entry.ok) {
      const { file } = heldNow(entry.service);
      held.set(entry.service, { file, taken: file });
    }
  };
  return {
    of: (name) => {
      const lines = readFileSync(journal, 'utf8').split('\n');
      for (const line of lines.filter((each) => each !== '')) take(JSON.parse(line));
      return heldNow(name);
    },
    close: () => closeSync(journal),
  };
};

/** One line per report that is not so. */
export const liesIn = (
  reports: readonly RuleReport[],
  rules: readonly RuleObject[],
  witness: Witness,
): readonly string[] =>
  reports.flatMap(({ kind, name, uid, state }) => {
    const place = PLACES[kind]?.(name);
    const rule = rules.find(({ metadata }) => metadata.uid === uid);
    if (place === undefined || rule === undefined) return [`nobody asked about ${kind} ${name}`];
    const { taken, file } = witness.of(place.package);
    const [inForce, there] = [taken, file].map((all) =>
      all.find((section) => section.name === place.section),
    );
    if (state === 'Applied' && !isAsAsked(inForce, rule)) return [`${name} is not in force`];
    if (state === 'Removed' && (inForce ?? there)) return [`${name} is not gone`];
    return [];
  });

/** In the options that the rules of these tests change. */
const isAsAsked = (section: JudgedSection | undefined, { spec }: RuleObject): boolean => {
  if (section === undefined) return false;
  const asked: object = typeof spec === 'object' && spec !== null ? spec : {};
  return ['dest_port', 'input'].every(
    (option) => !(option in asked) || section.options[option] === Reflect.get(asked, option),
  );
};
