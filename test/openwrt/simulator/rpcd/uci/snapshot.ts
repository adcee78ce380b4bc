/**
 * What an apply would be undone to: the packages and the staged changes from before it, in files as
 * rpcd keeps them.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { readBytes, writeBytes } from '../../bytes.ts';

export class Snapshot {
  readonly #files: string;
  readonly #deltas: string;

  /** `runDirectory`: /var/run/rpcd */
  constructor(runDirectory: string) {
    this.#files = `${runDirectory}/snapshot-files`;
    this.#deltas = `${runDirectory}/snapshot-delta`;
  }

  /** The packages in it. */
  names(): string[] {
    return existsSync(this.#files) ? readdirSync(this.#files) : [];
  }

  add(name: string, saved: { text: string; delta: string }): void {
    for (const directory of [this.#files, this.#deltas]) mkdirSync(directory, { recursive: true });
    writeBytes(`${this.#files}/${name}`, saved.text);
    writeBytes(`${this.#deltas}/${name}`, saved.delta);
  }

  read(name: string): { text: string; delta: string } {
    return {
      text: readBytes(`${this.#files}/${name}`),
      delta: readBytes(`${this.#deltas}/${name}`),
    };
  }

  purge(): void {
    for (const directory of [this.#files, this.#deltas])
      rmSync(directory, { recursive: true, force: true });
  }
}
