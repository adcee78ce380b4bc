/**
 * UCI as ICN's Lua uses it: one staging folder for all requests, and the shell's too. What a
 * request leaves staged, the next commit of that package writes. Writes of names that UCI does not
 * take are lost without a word, as LuCI loses them.
 */
import type { Cause } from '../journal.ts';
import { UciError } from '../uci/errors.ts';
import { isName } from '../uci/names.ts';
import { UciPackage, type UciChange, type UciSection, type UciValue } from '../uci/package.ts';
import type { UciStore } from '../uci/store.ts';

export type IcnUciDeps = {
  store: UciStore;
  stagingDirectory: string;
  /** `uci commit` tells procd. */
  onConfigChange: (packageName: string) => void;
};

/** Empty files of ICN's image, which REST alone uses. */
const OWN_PACKAGES = new Set(['firewall-rule', 'firewall-nat', 'route-cnf', 'rule-cnf', 'app-cnf']);

export class IcnUci {
  readonly #deps: IcnUciDeps;

  constructor(deps: IcnUciDeps) {
    this.#deps = deps;
  }

  /**
   * The package with what is staged. Empty when rpcd has an error for it, which LuCI's Lua does not
   * look at.
   */
  load(name: string): UciPackage {
    return this.#read(name) ?? new UciPackage(name);
  }

  #read(name: string): UciPackage | undefined {
    const { store, stagingDirectory } = this.#deps;
    if (store.text(name) === undefined && OWN_PACKAGES.has(name))
      store.replace(name, '', { call: 'factory' });
    try {
      return store.load(name, stagingDirectory).package;
    } catch (error) {
      if (error instanceof UciError) return undefined;
      throw error;
    }
  }

  sections(name: string, type: string): UciSection[] {
    return this.load(name).sections.filter((section) => section.type === type);
  }

  open(name: string): Draft {
    const uciPackage = this.#read(name);
    return new Draft(uciPackage ?? new UciPackage(name), (changes) => {
      if (uciPackage) this.#deps.store.stage(name, this.#deps.stagingDirectory, changes);
    });
  }

  commit(name: string, by: Cause): void {
    if (!this.#read(name)) return;
    this.#deps.store.commit(name, this.#deps.stagingDirectory, by);
    this.#deps.onConfigChange(name);
  }

  revert(name: string): void {
    this.#deps.store.revert(name, this.#deps.stagingDirectory);
  }
}

/** Changes to a package that are staged together. */
export class Draft {
  readonly package: UciPackage;
  readonly #stage: (changes: readonly UciChange[]) => void;
  #changes: UciChange[] = [];

  constructor(uciPackage: UciPackage, stage: (changes: readonly UciChange[]) => void) {
    this.package = uciPackage;
    this.#stage = stage;
  }

  /** Id of the new section; undefined for a name that UCI does not take. */
  add(type: string, name?: string): string | undefined {
    if (name === undefined) {
      const section = this.package.append(type);
      this.#changes.push({ command: 'add', section: section.name, value: type });
      return section.name;
    }
    if (!isName(name)) return undefined;
    this.#apply({ command: 'set', section: name, value: type });
    return name;
  }

  set(section: string | undefined, option: string, value: UciValue): void {
    if (section === undefined) return;
    if (typeof value === 'string') this.#apply({ command: 'set', section, option, value });
    else
      for (const item of value) this.#apply({ command: 'list-add', section, option, value: item });
  }

  remove(section: string): void {
    if (this.package.find(section)) this.#apply({ command: 'remove', section });
  }

  stage(): void {
    this.#stage(this.#changes);
    this.#changes = [];
  }

  /** Drops what was not staged yet. */
  forget(): void {
    this.#changes = [];
  }

  #apply(change: UciChange): void {
    const made = this.package.apply(change);
    if (made) this.#changes.push(made);
  }
}

/** An option as text; '' when absent or a list. */
export const textOf = (section: UciSection, option: string): string => {
  const value = section.options.get(option);
  return typeof value === 'string' ? value : '';
};

export const listOf = (section: UciSection, option: string): readonly string[] => {
  const value = section.options.get(option) ?? [];
  return typeof value === 'string' ? [value] : value;
};
