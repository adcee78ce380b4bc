/**
 * What happened to the configuration, as JSON lines that outlive the process: tests take the truth
 * from here. Every write to a package by whatever call, every reload of a service, every start.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { toText } from './bytes.ts';

/**
 * Who did it: `call` is the ubus call (`uci apply`), the REST request, or what else happened
 * (`factory`, `rollback timer`).
 */
export type Cause = { call: string; user?: string; session?: string };

export type JournalEvent =
  | { event: 'start'; why: string }
  | {
      event: 'write';
      package: string;
      by: Cause;
      /** SHA-256 of the file; absent: no such file. */
      before?: string;
      after?: string;
      /** The whole file after the write, when the journal keeps texts. */
      text?: string;
    }
  | { event: 'reload'; service: string; action: string; by: Cause; ok: boolean; stderr: string }
  /** The loaded table was changed; `ok`: it is now what the service makes of its file. */
  | { event: 'amend'; service: string; by: Cause; ok: boolean }
  /**
   * `nft -f` of the table of policies; `ok`: nft took it. `text`: what was loaded, unless it is
   * very long.
   */
  | { event: 'policies'; by: Cause; ok: boolean; text?: string }
  | { event: 'rpcd died'; why: string }
  | { event: 'fault'; call: string; action: string };

/** `seq` counts on over restarts; `at` is ISO 8601, `ms` the same in milliseconds since 1970. */
export type JournalEntry = JournalEvent & { seq: number; at: string; ms: number };

export type Journal = {
  readonly path: string;
  add: (event: JournalEvent) => void;
  recordWrite: (write: {
    package: string;
    by: Cause;
    before: string | undefined;
    after: string | undefined;
  }) => void;
  /** All entries in the file, those of earlier processes too. */
  entries: () => JournalEntry[];
};

export const createJournal = (options: {
  path: string;
  /** Whether write entries hold the whole text. */
  texts: boolean;
  now?: () => number;
}): Journal => {
  const { path, texts, now = Date.now } = options;
  const read = (): JournalEntry[] =>
    existsSync(path)
      ? readFileSync(path, 'utf8')
          .split('\n')
          .filter((line) => line !== '')
          .map(parseEntry)
      : [];
  let seq = read().at(-1)?.seq ?? 0;
  const add = (event: JournalEvent): void => {
    seq += 1;
    const ms = now();
    const entry = { seq, at: new Date(ms).toISOString(), ms, ...event };
    appendFileSync(path, `${JSON.stringify(entry)}\n`);
  };
  return {
    path,
    add,
    recordWrite: ({ before, after, ...rest }) =>
      add({
        event: 'write',
        ...rest,
        ...(before === undefined ? {} : { before: sha256(before) }),
        ...(after === undefined ? {} : { after: sha256(after) }),
        ...(texts && after !== undefined ? { text: toText(after) } : {}),
      }),
    entries: read,
  };
};

const parseEntry = (line: string): JournalEntry => {
  const entry: JournalEntry = JSON.parse(line);
  return entry;
};

const sha256 = (bytes: string): string =>
  createHash('sha256').update(bytes, 'latin1').digest('hex');
