/** The parts of an OpenWRT that the agent keeps, in the order in which they are read. */
import { files } from './files.ts';
import { packages } from './packages.ts';
import type { Carry, Change, Part } from './part.ts';

export const parts: readonly Part[] = [packages, files];

export const partOf = (name: string): Part => parts.find(({ holds }) => holds(name)) ?? packages;

const nothing: Carry = () =>
  Promise.resolve({ outcome: 'done', states: new Map(), warnings: new Map() });

/** One change of all parts, those that come later around those before. @throws OpenwrtError */
export const applyParts = (all: readonly Part[], change: Change): ReturnType<Carry> =>
  all.reduce<Carry>(
    (others, { apply }) =>
      (next) =>
        apply(next, others),
    nothing,
  )(change);
