/**
 * UCI packages as files: what /etc/config and the staging folders hold, and libuci's ways of
 * changing them. Has no sessions, rights or protocols, so that rpcd and other front ends (ICN's
 * REST) share one store. Reads the disk anew on every call: tests and administrators edit the files
 * behind its back, as on a device.
 */
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  statSync,
  truncateSync,
  unlinkSync,
} from 'node:fs';
import { readBytes, writeBytes } from '../bytes.ts';
import type { Cause } from '../journal.ts';
import { applyDelta, formatChange } from './delta.ts';
import { UciError } from './errors.ts';
import { isPackageName } from './names.ts';
import type { UciChange, UciPackage } from './package.ts';
import { formatPackage, parsePackage } from './text.ts';

export type LoadedPackage = {
  package: UciPackage;
  /** What is staged, as `uci changes` shows it. */
  staged: readonly UciChange[];
};

export type UciStoreOptions = {
  /** /etc/config */
  configDirectory: string;
  /** Called after each change of a file in `configDirectory`, with the file before and after. */
  onWrite: (write: {
    package: string;
    by: Cause;
    before: string | undefined;
    after: string | undefined;
  }) => void;
};

export class UciStore {
  readonly configDirectory: string;
  /**
   * Space of the device: how much of a file can be written. libuci does not look whether it could,
   * and puts what there is of it in place of the package; rpcd answers 0 (measured with /etc/config
   * on a full tmpfs: an empty file).
   */
  freeBytes = Infinity;
  /** The same where rpcd keeps what is staged; told, and not enforced. */
  freeBytesOfTmp = Infinity;
  /**
   * Sections that it cannot hold: as in libuci, lines of a delta file about them are skipped,
   * without a word.
   */
  skipped: ReadonlySet<string> = new Set();
  readonly #onWrite: UciStoreOptions['onWrite'];
  #temporary = 0;

  constructor(options: UciStoreOptions) {
    this.configDirectory = options.configDirectory;
    this.#onWrite = options.onWrite;
  }

  /** Names of all packages, sorted. */
  list(): string[] {
    return readdirSync(this.configDirectory).filter(isPackageName).sort();
  }

  path(name: string): string {
    if (!isPackageName(name)) throw new UciError('invalid', `no package name: ${name}`);
    return `${this.configDirectory}/${name}`;
  }

  /** The file as it is, or undefined. */
  text(name: string): string | undefined {
    const path = this.path(name);
    return isFile(path) ? readBytes(path) : undefined;
  }

  /** Size of the package and of what is staged for it. */
  bytes(name: string, stagingDirectory: string): number {
    return isPackageName(name)
      ? [this.path(name), `${stagingDirectory}/${name}`]
          .map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0)
          .reduce((sum, size) => sum + size)
      : 0;
  }

  /**
   * The package with what `stagingDirectory` holds for it made on top. @throws UciError `not
   * found`, `parse`, `invalid`
   */
  load(name: string, stagingDirectory?: string): LoadedPackage {
    const text = this.text(name);
    if (text === undefined) throw new UciError('not found', `no package: ${name}`);
    const uciPackage = parsePackage(name, text);
    const delta = stagingDirectory === undefined ? '' : readStaged(stagingDirectory, name);
    return { package: uciPackage, staged: applyDelta(uciPackage, delta).staged };
  }

  /** Adds changes to a staging folder, which is made when it is missing. */
  stage(name: string, stagingDirectory: string, changes: readonly UciChange[]): void {
    if (changes.length === 0) return;
    mkdirSync(stagingDirectory, { recursive: true });
    const lines = changes.map((change) => formatChange(name, change)).join('');
    appendFileSync(`${stagingDirectory}/${name}`, lines, 'latin1');
  }

  /**
   * Writes what is staged into the package, and empties the staging file. No write when no staged
   * line could be made; then the staging file stays as it is. @throws UciError
   */
  commit(name: string, stagingDirectory: string, by: Cause): void {
    const text = this.text(name);
    if (text === undefined) throw new UciError('not found', `no package: ${name}`);
    const merged = this.merge(name, text, stagingDirectory);
    if (merged !== undefined) this.replace(name, merged, by);
  }

  /**
   * The text with what is staged made in it, which empties the staging file. Undefined when nothing
   * could be made. @throws UciError
   */
  merge(name: string, text: string, stagingDirectory: string): string | undefined {
    const uciPackage = parsePackage(name, text);
    const delta = this.#withoutSkipped(readStaged(stagingDirectory, name));
    if (applyDelta(uciPackage, delta).made === 0) return undefined;
    truncateSync(`${stagingDirectory}/${name}`);
    return formatPackage(uciPackage);
  }

  #withoutSkipped(delta: string): string {
    if (this.skipped.size === 0) return delta;
    const sectionOf = (line: string): string => line.split(/[.=]/)[1] ?? '';
    return delta
      .split(/(?<=\n)/)
      .filter((line) => !this.skipped.has(sectionOf(line)))
      .join('');
  }

  /**
   * Drops what is staged for the package. @throws UciError when the package itself cannot be read.
   */
  revert(name: string, stagingDirectory: string): void {
    this.load(name, stagingDirectory);
    if (existsSync(`${stagingDirectory}/${name}`)) truncateSync(`${stagingDirectory}/${name}`);
  }

  /**
   * As `uci import`: the text, written the way libuci writes it, becomes the package. @throws
   * UciParseError
   */
  import(name: string, text: string, by: Cause): void {
    this.replace(name, formatPackage(parsePackage(name, text)), by);
  }

  /**
   * Puts a whole file in place of the package, atomically; mode and symbolic links stay. A file
   * that is a mount cannot be replaced: then nothing happens, and as on a device there is no error.
   */
  replace(name: string, whole: string, by: Cause): void {
    const text = whole.slice(0, this.freeBytes);
    const path = this.path(name);
    const before = this.text(name);
    // The new file lies beside the old one until it takes its place.
    this.freeBytes += (before?.length ?? 0) - text.length;
    this.#temporary += 1;
    const temporary = `${this.configDirectory}/.${name}.uci-${this.#temporary}`;
    writeBytes(temporary, text);
    chmodSync(temporary, before === undefined ? 0o644 : statSync(path).mode & 0o7777);
    try {
      renameSync(temporary, before === undefined ? path : realpathSync(path));
    } catch (error) {
      unlinkSync(temporary);
      if (!(error instanceof Error && 'code' in error && error.code === 'EBUSY')) throw error;
      return;
    }
    this.#onWrite({ package: name, by, before, after: text });
  }

  /**
   * Writes the file in place, as a copy does and `file.write` on a device would: a reader may see
   * it empty.
   */
  overwrite(name: string, text: string, by: Cause): void {
    const before = this.text(name);
    writeBytes(this.path(name), text);
    this.written(name, before, by);
  }

  /** Tells that the file was changed, whatever it holds now. */
  written(name: string, before: string | undefined, by: Cause): void {
    this.#onWrite({ package: name, by, before, after: this.text(name) });
  }

  remove(name: string, by: Cause): void {
    const before = this.text(name);
    if (before === undefined) return;
    unlinkSync(this.path(name));
    this.#onWrite({ package: name, by, before, after: undefined });
  }
}

const readStaged = (stagingDirectory: string, name: string): string => {
  const path = `${stagingDirectory}/${name}`;
  return isFile(path) ? readBytes(path) : '';
};

const isFile = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
