/** What nft lists of the table of policies, compared with what was to be loaded. */
import { spelling } from '#shared/policy/address-blocks.ts';
import { addressOf } from '#shared/policy/group-members.ts';
import type { PolicyTable } from '#shared/policy/nft-table.ts';

/** Without its end: a search for the end from each begin takes the square of the length. */
const SET = /^\tset (\w+) \{\n([^]*)/m;
const END = /^\t\}/m;
const COUNTER = /^(\w+) (\d+)$/gm;
const ELEMENTS = /elements = \{([^{}]*)\}/;
/** The marker in the second table, which has nothing else. */
const MARKER = /^\tcomment "([0-9a-f]+)"/m;

export const markerIn = (text: string): string => MARKER.exec(text)?.[1] ?? '';

/** Packets by name, of a name and a number a line. */
export const countersIn = (text: string): ReadonlyMap<string, number> =>
  new Map(
    [...text.matchAll(COUNTER)].map(
      ([, name = '', packets]) =>
        [name, Math.min(Number(packets), Number.MAX_SAFE_INTEGER)] as const,
    ),
  );

/** By name. Addresses in their one spelling, whatever nft's is. */
export const setsIn = (text: string): ReadonlyMap<string, ReadonlySet<string>> =>
  new Map(
    text
      .split(END)
      .slice(0, -1)
      .flatMap((block) => {
        const [, name, inside = ''] = SET.exec(block) ?? [];
        if (name === undefined) return [];
        const elements = ELEMENTS.exec(inside)?.[1] ?? '';
        return [[name, new Set(elements.split(',').flatMap(memberOf))] as const];
      }),
  );

/** The first of these sets that the kernel has not as it is in the table. */
export const differingSet = (
  listed: string,
  { sets }: PolicyTable,
  names: readonly string[],
): string | undefined => {
  const held = setsIn(listed);
  return names.find((name) => {
    const members = sets.get(name)?.members ?? [];
    const there = held.get(name);
    return (
      there === undefined ||
      there.size !== members.length ||
      members.some((member) => !there.has(member))
    );
  });
};

const memberOf = (text: string): string[] => {
  const member = text.trim();
  if (member === '') return [];
  const address = addressOf(member);
  return [`${spelling(address)}${member.slice(address.length)}`];
};
