/**
 * A delta as calls of `uci`, in steps that can be applied one after the other. Pure. After each
 * step every section that is to stay is there: one that moves goes and comes in the same step, and
 * what is to go, goes last.
 */
import type { UciDelta, UciReplacement, UciSection, UciValue } from '#shared/uci/model.ts';
import type { UbusCall } from '../client/rpc.ts';
import { own } from '#shared/util/own.ts';

/**
 * `uci add` is quadratic in what is staged: 1,000 of them take 2.9 to 3.5 s with an apply every 25,
 * 7.5 s with one (measured).
 */
export const SECTIONS_PER_STEP = 25;

export type Step = readonly UbusCall[];

/** A delta in parts that can be written one after the other. */
export const partsOf = (delta: UciDelta, sectionsPerPart = SECTIONS_PER_STEP): UciDelta[] => {
  const { package: config, remove, set, append } = delta;
  const moving = new Set(append.map(({ name }) => name));
  const removing = new Set(remove);
  const nothing: UciDelta = { package: config, remove: [], set: [], append: [] };
  const bySection: UciDelta[] = [
    ...set.map((one) => ({ ...nothing, set: [one] })),
    ...append.map((one) => {
      const moves = removing.has(one.name);
      return { ...nothing, remove: moves ? [one.name] : [], append: [one] };
    }),
    ...remove.filter((name) => !moving.has(name)).map((one) => ({ ...nothing, remove: [one] })),
  ];
  const parts: UciDelta[] = [];
  for (let at = 0; at < bySection.length; at += sectionsPerPart) {
    const some = bySection.slice(at, at + sectionsPerPart);
    parts.push({
      package: config,
      remove: some.flatMap((one) => one.remove),
      set: some.flatMap((one) => one.set),
      append: some.flatMap((one) => one.append),
    });
  }
  return parts;
};

/**
 * All of a delta. `uci order` plays no part: it moves sections to the front of a package, before an
 * administrator's (measured). A section is brought to the end by removing and adding it.
 */
export const stepOf = ({ package: config, remove, set, append }: UciDelta): Step => {
  const moving = new Set(append.map(({ name }) => name));
  const removing = new Set(remove);
  return [
    ...set.flatMap((replacement) => replace(config, replacement)),
    ...append.flatMap((section) => [
      ...(removing.has(section.name) ? [removal(config, section.name)] : []),
      addition(config, section),
    ]),
    ...remove.filter((name) => !moving.has(name)).map((name) => removal(config, name)),
  ];
};

/** The parts of a delta as calls. */
export const stepsOf = (delta: UciDelta, sectionsPerStep = SECTIONS_PER_STEP): Step[] =>
  partsOf(delta, sectionsPerStep).map(stepOf);

/** Restores one section of others, as it was. */
export const restoration = (config: string, section: UciSection): UbusCall =>
  section.anonymous
    ? call('add', { config, type: section.type, values: stored(section.options) })
    : addition(config, section);

const call = (method: string, args: Readonly<Record<string, unknown>>): UbusCall => ({
  object: 'uci',
  method,
  args,
});

export const removal = (config: string, section: string): UbusCall =>
  call('delete', { config, section });

export const addition = (config: string, { name, type, options }: UciSection): UbusCall =>
  call('add', { config, type, name, values: stored(options) });

/** In place. A list is replaced item by item where it is set, so nothing of the old one is left. */
const replace = (config: string, { before, after }: UciReplacement): UbusCall[] => {
  const section = after.name;
  const values = stored(after.options);
  const gone = Object.keys(before.options).filter((option) => !Object.hasOwn(values, option));
  const changed = Object.entries(values).filter(
    ([option, value]) => JSON.stringify(own(before.options, option)) !== JSON.stringify(value),
  );
  return [
    // An `add` of a name that is there only changes its type.
    ...(before.type === after.type
      ? []
      : [call('add', { config, name: section, type: after.type })]),
    ...(gone.length === 0 ? [] : [call('delete', { config, section, options: gone })]),
    ...(changed.length === 0
      ? []
      : [call('set', { config, section, values: Object.fromEntries(changed) })]),
  ];
};

/** UCI has no empty values; rpcd refuses an empty list. */
const stored = (options: UciSection['options']): Readonly<Record<string, UciValue>> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value.length > 0));
