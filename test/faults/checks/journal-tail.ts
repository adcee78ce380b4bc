/**
 * Reads a growing journal to its end, again and again, and goes on with the next one where a
 * container has started anew. The file stays open, so that what was written last is read although
 * its folder has gone since.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import type { JournalEntry } from '../../openwrt/checks/in-force.ts';
import { entriesIn } from '../../stack/journal.ts';

const CHUNK = 1_048_576;

export type JournalTail = { readOn: () => JournalEntry[]; close: () => void };

export const tailJournal = (path: string): JournalTail => {
  const buffer = Buffer.alloc(CHUNK);
  let file: { descriptor: number; inode: number } | undefined;
  let rest = '';

  const readToEnd = (): JournalEntry[] => {
    if (!file) return [];
    const parts: Buffer[] = [];
    for (;;) {
      const length = readSync(file.descriptor, buffer, 0, CHUNK, null);
      if (length === 0) break;
      parts.push(Buffer.from(buffer.subarray(0, length)));
    }
    const lines = (rest + Buffer.concat(parts).toString('utf8')).split('\n');
    // The last line may be half there; a character is not, since the simulator appends whole lines.
    rest = lines.pop() ?? '';
    return entriesIn(lines);
  };
  const close = (): void => {
    if (file) closeSync(file.descriptor);
    file = undefined;
    rest = '';
  };

  return {
    readOn: () => {
      const entries = readToEnd();
      const inode = statSync(path, { throwIfNoEntry: false })?.ino;
      if (inode === undefined || inode === file?.inode) return entries;
      entries.push(...readToEnd());
      close();
      const descriptor = openSync(path, 'r');
      file = { descriptor, inode: fstatSync(descriptor).ino };
      return [...entries, ...readToEnd()];
    },
    close,
  };
};
