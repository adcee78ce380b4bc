/**
 * What a pass does with adopted sections. Under our names for them all goes as with ours; OpenWRT knows anonymous ones by ids
 * that are good for one reading only, so names are exchanged on the way there and back.
 */
import type { Adoption } from '#shared/compile/adoption.ts';
import { ledgerKey } from '#shared/compile/ownership.ts';
import type { UciDelta } from '#shared/uci/model.ts';
import type { ApplyResult } from '../device/driver.ts';
import type { Plan } from './plan.ts';

/** What the driver is to do: sections that stay anonymous keep their ids. */
export const deltaForOpenwrt = (delta: UciDelta, { adopted }: Adoption): UciDelta => {
  const foundAs = (name: string) => adopted.get(ledgerKey(delta.package, name))?.found;
  return {
    ...delta,
    remove: delta.remove.map((name) => foundAs(name)?.name ?? name),
    set: delta.set.map(({ before, after }) => {
      const found = foundAs(before.name);
      if (found === undefined) return { before, after };
      const { name, anonymous } = found;
      return { before: found, after: { ...after, name, anonymous } };
    }),
  };
};

/** `package.section` -> kind of the rule that it is for. */
export const kindsOf = ({ adopted }: Adoption): ReadonlyMap<string, string> =>
  new Map([...adopted].map(([key, { kind }]) => [key, kind]));

/** Uids of rules that go, and that something is adopted for. */
export const leavingIn = (
  { verdicts }: Pick<Plan, 'verdicts'>,
  { adopted }: Adoption,
): ReadonlySet<string> => {
  const uids = new Set([...adopted.values()].map(({ uid }) => uid));
  return new Set(
    verdicts
      .filter(({ rule, verdict }) => verdict === 'unwanted' && uids.has(rule.metadata.uid))
      .map(({ rule }) => rule.metadata.uid),
  );
};

/** What we put at another place is ours like any other from then on, and what we removed is gone. */
export const without = (
  adopted: ReadonlySet<string>,
  deltas: readonly UciDelta[],
): ReadonlySet<string> => {
  const touched = new Set(
    deltas.flatMap(({ remove, append, ...delta }) =>
      [...remove, ...append.map(({ name }) => name)].map((name) => ledgerKey(delta.package, name)),
    ),
  );
  return new Set([...adopted].filter((key) => !touched.has(key)));
};

type Done = Extract<ApplyResult, { outcome: 'done' }>;
type Rejected = Extract<ApplyResult, { outcome: 'rejected' }>;

/** `adoption` of what was read back. */
export const warningsByOurNames = ({ warnings }: Done, adoption: Adoption): Done['warnings'] =>
  new Map(
    [...warnings].map(([name, told]) => {
      const ours = ourNamesIn(name, adoption);
      return [
        name,
        new Map([...told].map(([section, words]) => [ours.get(section) ?? section, words])),
      ];
    }),
  );

export const rejectedByOurNames = (rejected: Rejected, adoption: Adoption): Rejected => {
  const ours = ourNamesIn(rejected.package, adoption);
  return { ...rejected, sections: rejected.sections.map((name) => ours.get(name) ?? name) };
};

const ourNamesIn = (packageName: string, { adopted }: Adoption): ReadonlyMap<string, string> => {
  const prefix = ledgerKey(packageName, '');
  return new Map(
    [...adopted]
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, { found }]) => [found.name, key.slice(prefix.length)]),
  );
};
