/** Random variations of JSON: of its structure, its values, and sometimes of its bare text. */
import type { Random } from '../../run/random.ts';

const MAX_CHANGES = 3;
const ENVELOPE_DEPTH = 2;
/** The rest has its structure changed. */
const BROKEN_TEXT = 0.05;
const UNCHANGED = 0.05;

/**
 * The text of a variation. `donors`: where parts come from that have the right shape in the wrong
 * place.
 */
export const mutated = (seed: unknown, donors: readonly unknown[], random: Random): string => {
  const kind = random.next();
  if (kind < UNCHANGED) return JSON.stringify(seed);
  const value: unknown = structuredClone(seed);
  const changes = 1 + random.int(MAX_CHANGES);
  for (let change = 0; change < changes; change += 1) changeOne(value, donors, random);
  const text = JSON.stringify(value);
  return kind < UNCHANGED + BROKEN_TEXT ? broken(text, random) : text;
};

/** `holder` may be an array: its indexes are keys, too. */
type Slot = { holder: Record<string, unknown>; key: string; depth: number };

/** Every place of the tree below `value`. */
const slotsOf = (value: unknown, depth = 0): Slot[] => {
  if (typeof value !== 'object' || value === null) return [];
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [
    { holder, key, depth },
    ...slotsOf(holder[key], depth + 1),
  ]);
};

const changeOne = (root: unknown, donors: readonly unknown[], random: Random): void => {
  const slots = slotsOf(root);
  if (slots.length === 0) return;
  // A broken envelope is detected early; most of what can go wrong lies deeper.
  const deep = slots.filter(({ depth }) => depth > ENVELOPE_DEPTH);
  const slot = random.pick(deep.length > 0 && random.next() < 0.8 ? deep : slots);
  random.pick(CHANGES)(slot, donors, random);
};

type Change = (slot: Slot, donors: readonly unknown[], random: Random) => void;

const remove: Change = ({ holder, key }) => {
  if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else delete holder[key];
};

const replace: Change = ({ holder, key }, _donors, random) => {
  holder[key] = random.pick(JUNK)();
};

const transplant: Change = ({ holder, key }, donors, random) => {
  const organs = slotsOf(random.pick(donors));
  const fitting = organs.filter((slot) => slot.key === key);
  const from = random.pick(fitting.length > 0 && random.next() < 0.8 ? fitting : organs);
  holder[key] = structuredClone(from.holder[from.key]);
};

const repeat: Change = ({ holder, key }, _donors, random) => {
  const copy: unknown = structuredClone(holder[key]);
  if (Array.isArray(holder)) holder.push(copy);
  else holder[random.pick(NAMES)] = copy;
};

const distort: Change = ({ holder, key }, _donors, random) => {
  const value = holder[key];
  if (typeof value === 'string') holder[key] = changedText(value, random);
  else if (typeof value === 'number') holder[key] = value + random.pick([1, -1, 0.5, 2 ** 53]);
  else holder[key] = [value];
};

const CHANGES: readonly Change[] = [remove, replace, transplant, repeat, distort, distort];

const changedText = (text: string, random: Random): string => {
  const at = random.int(text.length + 1);
  return text.slice(0, at) + random.pick(TEXTS) + text.slice(at + random.int(3));
};

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

const JUNK: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => 0,
  () => -1,
  () => 1e308,
  () => '',
  () => 'x',
  () => 'x'.repeat(5_000),
  () => [],
  () => ({}),
  () => [null],
  () => nested(500),
  () => JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"prototype": 1}}'),
  () => ({ metadata: {}, spec: {}, kind: 'Pod' }),
];
const TEXTS = [
  '\u0000',
  '\u0007',
  '\n',
  '\ud800',
  '🦊',
  "'",
  '"',
  '$(reboot)',
  '{{',
  '../..',
  '*'.repeat(200),
  '%s',
  '-1',
  '1e9',
  'CREATE',
  'deny',
  'cnf-1',
  ' '.repeat(300),
];
const NAMES = ['__proto__', 'constructor', 'name', 'labels', 'spec', 'toString', 'length', ''];

/** No JSON any more, most likely. */
const broken = (text: string, random: Random): string => {
  const at = random.int(text.length);
  const junk = random.pick(['', '\u0000', '}', '[', '"', '\\', '\ufeff']);
  return random.next() < 0.5 ? text.slice(0, at) : text.slice(0, at) + junk + text.slice(at + 1);
};
