/**
 * The methods of `uci` that stage changes: add, set, delete, rename, order. Nothing is staged
 * unless all of a call is good.
 */
import { isArray, stringsOf, type Json } from '../../json.ts';
import { isName } from '../../uci/names.ts';
import type { UciChange, UciPackage, UciSection } from '../../uci/package.ts';
import { STATUS, failed, ok, type Arguments, type Reply, type Status } from '../bus.ts';
import type { PackageCall } from './object.ts';
import { isSectionType, matches, textOf } from './values.ts';

export const add = (call: PackageCall): Reply => {
  const { args } = call;
  const [type, name] = [args.text('type'), args.text('name')];
  if (type === undefined || !isSectionType(type)) return failed(STATUS.invalidArgument);
  if (name !== undefined && !isName(name)) return failed(STATUS.invalidArgument);
  const recorder = openRecorder(call);
  if (name !== undefined) recorder.apply({ command: 'set', section: name, value: type });
  const section = name ?? recorder.appendAnonymous(type);
  const outcomes = Object.entries(args.object('values') ?? {}).map(
    ([option, value]) =>
      isName(option) &&
      (isArray(value)
        ? addItems(recorder, { section, option }, value)
        : setScalar(recorder, { section, option }, value)),
  );
  if (outcomes.includes(false)) return failed(STATUS.invalidArgument);
  recorder.stage();
  return ok({ section });
};

export const set = (call: PackageCall): Reply => {
  const values = call.args.object('values');
  const targets = targetsOf(call.args);
  if (!values || !targets) return failed(STATUS.invalidArgument);
  const recorder = openRecorder(call);
  const sections = targets(recorder.package);
  if (sections.length === 0) return failed(STATUS.notFound);
  const outcomes = sections.flatMap((section) =>
    Object.entries(values).map(([option, value]) =>
      setOption(recorder, section, { option, value }),
    ),
  );
  if (outcomes.includes(false)) return failed(STATUS.invalidArgument);
  recorder.stage();
  return ok();
};

export const remove = (call: PackageCall): Reply => {
  const { args } = call;
  const targets = targetsOf(args);
  if (!targets || !isSectionType(args.text('type') ?? 'any')) return failed(STATUS.invalidArgument);
  const recorder = openRecorder(call);
  const option = args.text('option');
  const options = args.array('options') ? stringsOf(args.array('options')) : option && [option];
  let status: Status = STATUS.notFound;
  for (const section of targets(recorder.package)) {
    const removals: UciChange[] = options
      ? options
          .filter((name) => section.options.has(name))
          .map((name) => ({ command: 'remove', section: section.name, option: name }))
      : [{ command: 'remove', section: section.name }];
    status = removals.length === 0 ? STATUS.notFound : STATUS.ok;
    removals.forEach(recorder.apply);
  }
  if (status !== STATUS.ok) return failed(status);
  recorder.stage();
  return ok();
};

export const rename = (call: PackageCall): Reply => {
  const [section, name] = [call.args.text('section'), call.args.text('name')];
  if (section === undefined || name === undefined || !isName(name))
    return failed(STATUS.invalidArgument);
  const recorder = openRecorder(call);
  const option = call.args.text('option');
  // As measured: what is not there is renamed with success.
  if (!recorder.package.find(section)) return ok();
  recorder.apply({
    command: 'rename',
    section,
    ...(option === undefined ? {} : { option }),
    value: name,
  });
  recorder.stage();
  return ok();
};

export const order = (call: PackageCall): Reply => {
  const sections = call.args.array('sections');
  if (!sections) return failed(STATUS.invalidArgument);
  const recorder = openRecorder(call);
  let place = 0;
  let status: Status = STATUS.ok;
  for (const section of sections) {
    if (typeof section !== 'string') status ||= STATUS.invalidArgument;
    else if (!recorder.package.find(section)) status ||= STATUS.notFound;
    else {
      recorder.apply({ command: 'order', section, value: String(place) });
      place += 1;
    }
  }
  if (status !== STATUS.ok) return failed(status);
  recorder.stage();
  return ok();
};

/**
 * Makes changes on a copy of the package as the session sees it, and stages those that changed
 * something.
 */
type Recorder = {
  package: UciPackage;
  apply: (change: UciChange) => void;
  /** Returns the id of the new section. */
  appendAnonymous: (type: string) => string;
  stage: () => void;
};

const openRecorder = ({ store, packageName, stagingDirectory }: PackageCall): Recorder => {
  const { package: uciPackage } = store.load(packageName, stagingDirectory);
  const changes: UciChange[] = [];
  return {
    package: uciPackage,
    apply: (change) => {
      const made = uciPackage.apply(change);
      if (made) changes.push(made);
    },
    appendAnonymous: (type) => {
      const { name } = uciPackage.append(type);
      changes.push({ command: 'add', section: name, value: type });
      return name;
    },
    stage: () => store.stage(packageName, stagingDirectory, changes),
  };
};

type Target = { section: string; option: string };

/** An array replaces the option item by item; a scalar replaces a list after deleting it. */
const setOption = (
  recorder: Recorder,
  section: UciSection,
  { option, value }: { option: string; value: Json },
): boolean => {
  if (!isName(option)) return false;
  const target = { section: section.name, option };
  const old = section.options.get(option);
  if (old !== undefined && (isArray(value) || typeof old !== 'string'))
    recorder.apply({ command: 'remove', ...target });
  if (!isArray(value)) return setScalar(recorder, target, value);
  const items = value.filter((item) => textOf(item) !== undefined);
  return addItems(recorder, target, items) && items.length > 0;
};

const setScalar = (recorder: Recorder, target: Target, value: Json): boolean => {
  const text = textOf(value);
  if (text !== undefined) recorder.apply({ command: 'set', ...target, value: text });
  return text !== undefined;
};

const addItems = (recorder: Recorder, target: Target, value: readonly Json[]): boolean => {
  const items = value.map(textOf);
  for (const item of items)
    if (item !== undefined) recorder.apply({ command: 'list-add', ...target, value: item });
  return !items.includes(undefined);
};

/**
 * The sections that `set` and `delete` mean: one by name, or all that match; undefined for
 * arguments that say neither.
 */
const targetsOf = (args: Arguments): ((uciPackage: UciPackage) => UciSection[]) | undefined => {
  const section = args.text('section');
  if (section !== undefined) {
    if (!/^(?:\w+|@[\w-]*\[\s*[+-]?\d+\])$/.test(section)) return undefined;
    return (uciPackage) => [uciPackage.resolve(section)].filter((found) => found !== undefined);
  }
  if (args.text('type') === undefined && args.object('match') === undefined) return undefined;
  return (uciPackage) => uciPackage.sections.filter((candidate) => matches(candidate, args));
};
