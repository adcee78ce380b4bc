/**
 * One UCI package in memory and the changes that can be made to it, with libuci's rules: what is
 * refused, what counts as no change, where a section or option stands afterwards. Pure; text and
 * files are elsewhere.
 */
import { UciError } from './errors.ts';
import { isName, isType } from './names.ts';

/** A list option is an array. */
export type UciValue = string | readonly string[];

export type UciSection = {
  name: string;
  type: string;
  anonymous: boolean;
  /** In file order. */
  options: Map<string, UciValue>;
};

export type UciChange = {
  command: 'add' | 'remove' | 'set' | 'rename' | 'order' | 'list-add';
  section: string;
  option?: string;
  /** Absent for `remove`; the place counted from 0, as text, for `order`. */
  value?: string;
};

export class UciPackage {
  readonly name: string;
  /** In file order. */
  readonly sections: UciSection[] = [];
  readonly #byName = new Map<string, UciSection>();
  /** Sections ever made in this reading; gives anonymous sections their number. */
  #made = 0;

  constructor(name: string) {
    this.name = name;
  }

  find(name: string): UciSection | undefined {
    return this.#byName.get(name);
  }

  /** Also takes `@type[index]` and `@[index]`; a negative index counts from the end. */
  resolve(name: string): UciSection | undefined {
    if (!name.startsWith('@')) return this.find(name);
    const match = /^@([^[]*)\[([^\]]*)\]$/.exec(name);
    const index = Number.parseInt(match?.[2] ?? '', 10);
    if (!match || Number.isNaN(index)) throw new UciError('invalid', `no section: ${name}`);
    const ofType = match[1]
      ? this.sections.filter((section) => section.type === match[1])
      : this.sections;
    return ofType.at(index < 0 && -index > ofType.length ? ofType.length : index);
  }

  /** Adds a section at the end; without a name it gets libuci's `cfgXXYYYY`. */
  append(type: string, name?: string): UciSection {
    this.#made += 1;
    const section: UciSection = {
      name: name ?? anonymousName(this.#made, type),
      type,
      anonymous: name === undefined,
      options: new Map(),
    };
    this.sections.push(section);
    if (!this.#byName.has(section.name)) this.#byName.set(section.name, section);
    return section;
  }

  /**
   * Makes one change. Returns it as libuci would record it, or undefined when nothing changes.
   * @throws UciError `not found`, `invalid`
   */
  apply(change: UciChange): UciChange | undefined {
    return this.#operations[change.command](change);
  }

  readonly #operations: Readonly<
    Record<UciChange['command'], (change: UciChange) => UciChange | undefined>
  > = {
    add: (change) => this.#add(change),
    set: (change) => this.#set(change),
    remove: (change) => this.#remove(change),
    rename: (change) => this.#rename(change),
    order: (change) => this.#order(change),
    'list-add': (change) => this.#listAdd(change),
  };

  #add(change: UciChange): UciChange | undefined {
    const done = this.#set(change);
    const section = change.option === undefined ? this.find(change.section) : undefined;
    if (section) section.anonymous = true;
    return done;
  }

  #set(change: UciChange): UciChange | undefined {
    const { option, value = '' } = change;
    const section = this.find(change.section);
    if (option !== undefined) return this.#setOption(change);
    if (value === '') return section ? this.#remove(change) : undefined;
    if (!isType(value)) throw new UciError('invalid', `no section type: ${value}`);
    if (!section) this.append(value, change.section);
    else if (section.type === value) return undefined;
    else {
      // libuci makes a new, named section when the new type does not fit into the place of the old
      // one.
      if (section.type.length !== value.length) section.anonymous = false;
      section.type = value;
    }
    return { command: 'set', section: change.section, value };
  }

  #setOption(change: UciChange): UciChange | undefined {
    const { option = '', value = '' } = change;
    const { options } = this.#required(change.section, 'invalid');
    const old = options.get(option);
    if (value === '') return old === undefined ? undefined : this.#remove(change);
    if (old === value) return undefined;
    options.set(option, value);
    return { command: 'set', section: change.section, option, value };
  }

  #remove(change: UciChange): UciChange {
    const section = this.#required(change.section, 'not found');
    if (change.option === undefined) {
      this.sections.splice(this.sections.indexOf(section), 1);
      this.#byName.delete(section.name);
      return { command: 'remove', section: change.section };
    }
    if (!section.options.delete(change.option))
      throw new UciError('not found', `no option: ${change.option}`);
    return { command: 'remove', section: change.section, option: change.option };
  }

  #rename(change: UciChange): UciChange {
    const { value = '' } = change;
    const section = this.#required(change.section, 'not found');
    if (!isName(value)) throw new UciError('invalid', `no name: ${value}`);
    if (change.option !== undefined) {
      if (!section.options.has(change.option))
        throw new UciError('not found', `no option: ${change.option}`);
      section.options = new Map(
        [...section.options].map(([name, old]) => [name === change.option ? value : name, old]),
      );
      return change;
    }
    this.#byName.delete(section.name);
    section.name = value;
    section.anonymous = false;
    if (!this.#byName.has(value)) this.#byName.set(value, section);
    return change;
  }

  #order(change: UciChange): UciChange | undefined {
    const section = this.#required(change.section, 'not found');
    const place = Number.parseInt(change.value ?? '', 10) || 0;
    const old = this.sections.indexOf(section);
    this.sections.splice(old, 1);
    const place0 = Math.min(Math.max(place, 0), this.sections.length);
    this.sections.splice(place0, 0, section);
    return place0 === old ? undefined : change;
  }

  #listAdd(change: UciChange): UciChange {
    const { option = '', value = '' } = change;
    const { options } = this.#required(change.section, 'invalid');
    const old = options.get(option) ?? [];
    options.set(option, [...(typeof old === 'string' ? [old] : old), value]);
    return change;
  }

  #required(name: string, otherwise: 'invalid' | 'not found'): UciSection {
    const section = this.find(name);
    if (!section) throw new UciError(otherwise, `no section: ${name}`);
    return section;
  }
}

/** `cfg`, the number of the section in hex, and the low 16 bits of a Bernstein hash of its type. */
const anonymousName = (number: number, type: string): string => {
  let hash = 5381;
  for (let index = 0; index < type.length; index += 1)
    hash = (Math.imul(hash, 33) + type.charCodeAt(index)) | 0;
  const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
  return `cfg${hex(number, 2)}${hex((hash & 0x7fffffff) % 0x10000, 4)}`;
};
