/** Options of one section as firewall4 takes them: an option that it refuses costs the section. */
import type { UciSection } from '../uci/model.ts';
import { own } from '../util/own.ts';

/** Why firewall4 leaves a section out. */
export class SkippedSection extends Error {
  override name = 'SkippedSection';
}

type Reader<T> = (text: string) => T | undefined;

export class Options {
  readonly #section: UciSection;

  constructor(section: UciSection) {
    this.#section = section;
  }

  /** @throws SkippedSection when it is a list, or says nothing that firewall4 knows */
  one<T>(option: string, read: Reader<T>): T | undefined {
    const value = own(this.#section.options, option);
    if (value === undefined) return undefined;
    if (typeof value !== 'string') throw new SkippedSection(`${option} must not be a list`);
    return this.#read(option, value, read);
  }

  /** As `one`, of what cannot be negated. */
  plain<T extends { negated: boolean }>(option: string, read: Reader<T>): T | undefined {
    const value = this.one(option, read);
    if (value?.negated === true) throw new SkippedSection(`${option} must not be negated`);
    return value;
  }

  /** A list, or words separated by blanks. */
  list<T>(option: string, read: Reader<T>): readonly T[] {
    const value = own(this.#section.options, option) ?? [];
    const items =
      typeof value === 'string' ? value.split(/[ \t]+/).filter((item) => item !== '') : value;
    return items.map((item) => this.#read(option, item, read));
  }

  has(option: string): boolean {
    return own(this.#section.options, option) !== undefined;
  }

  #read<T>(option: string, value: string, read: Reader<T>): T {
    const result = read(value);
    if (result === undefined)
      throw new SkippedSection(`${option} has the invalid value '${value}'`);
    return result;
  }
}
