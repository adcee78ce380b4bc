/**
 * How long a write of a package takes, and what others see meanwhile.
 *
 * A commit, as libuci makes it: open the file, wait for the lock of what was opened, read it, write
 * another file, rename that over it. No reader gets a half of it. But the lock is the old file's: a
 * process that opened it before the rename gets the lock after it, reads the old text, and
 * overwrites the first commit.
 *
 * In place, as rpcd's roll-back, `file.write`, an editor and a shell's `>` write: the file is
 * empty, then half, then whole, and no lock is asked for.
 */
import { closeSync, fstatSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Clock } from '../clock.ts';
import type { Cause } from '../journal.ts';
import { UciError } from './errors.ts';
import type { UciStore } from './store.ts';
import { formatPackage, parsePackage } from './text.ts';

export type UciWriter = {
  /** As `UciStore.commit`. @throws UciError */
  commit: (name: string, stagingDirectory: string, by: Cause) => Promise<void>;
  /** As `UciStore.import`. @throws UciParseError */
  import: (name: string, text: string, by: Cause) => Promise<void>;
  /** In place. */
  overwrite: (name: string, text: string, by: Cause) => Promise<void>;
};

export type UciWriterDeps = {
  store: UciStore;
  clock: Clock;
  /** 0: every write is done at once, and no other comes in between. */
  msPerKilobyte: number;
};

export const createUciWriter = ({ store, clock, msPerKilobyte }: UciWriterDeps): UciWriter => {
  const held = new Map<number, Promise<void>>();
  const pass = (bytes: number): Promise<void> => clock.wait((bytes / 1024) * msPerKilobyte);

  /** `write` gets what the file held that was opened, and gives what is to take its place. */
  const replacing = async (
    name: string,
    by: Cause,
    write: (text: string) => string | undefined,
  ): Promise<void> => {
    const file = openSync(store.path(name), 'r');
    const { ino } = fstatSync(file);
    const unlocked = Promise.withResolvers<void>();
    let text: string | undefined;
    try {
      while (held.has(ino)) await held.get(ino);
      held.set(ino, unlocked.promise);
      text = write(readFileSync(file, 'latin1'));
      await pass(text?.length ?? 0);
    } finally {
      held.delete(ino);
      unlocked.resolve();
      closeSync(file);
    }
    if (text !== undefined) store.replace(name, text, by);
  };

  return {
    commit: async (name, stagingDirectory, by) => {
      if (msPerKilobyte === 0) return store.commit(name, stagingDirectory, by);
      if (store.text(name) === undefined) throw new UciError('not found', `no package: ${name}`);
      return replacing(name, by, (text) => store.merge(name, text, stagingDirectory));
    },
    import: async (name, text, by) => {
      if (msPerKilobyte === 0) return store.import(name, text, by);
      const formatted = formatPackage(parsePackage(name, text));
      // libuci makes the file that it locks.
      closeSync(openSync(store.path(name), 'a'));
      return replacing(name, by, () => formatted);
    },
    overwrite: async (name, text, by) => {
      if (msPerKilobyte === 0) return store.overwrite(name, text, by);
      const before = store.text(name);
      // At the end of a line: the worst place, since the rest parses.
      const half = text.lastIndexOf('\n', text.length / 2) + 1;
      const file = openSync(store.path(name), 'w');
      try {
        await pass(half);
        writeSync(file, text.slice(0, half), null, 'latin1');
        await pass(text.length - half);
        writeSync(file, text.slice(half), null, 'latin1');
      } finally {
        closeSync(file);
      }
      store.written(name, before, by);
    },
  };
};
