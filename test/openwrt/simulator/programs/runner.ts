/**
 * The programs of the device that `file.exec` can start. None of them is a program of this machine.
 */
import type { Clock } from '../clock.ts';
import type { Cause } from '../journal.ts';
import { canonicalPath } from '../root.ts';

/** Byte strings; a program killed by a signal has code 0, as rpcd reports it. */
export type ProgramResult = { code: number; stdout: string; stderr: string };
export type ProgramCall = {
  /** The name that it was started by, canonical: goes into its messages. */
  name: string;
  params: readonly string[];
  by: Cause;
  /** Aborted when rpcd kills it. */
  signal: AbortSignal;
};
export type Program = (call: ProgramCall) => ProgramResult | Promise<ProgramResult>;

/** Milliseconds after which rpcd kills a program, as OpenWRT has it set. */
const EXEC_TIMEOUT_MS = 30_000;

const SEARCH_PATH = ['/usr/bin', '/usr/sbin', '/bin', '/sbin'];

export class ProgramRunner {
  readonly #programs: ReadonlyMap<string, Program | string>;
  readonly #clock: Clock;
  readonly #timeoutMs: number;

  /** `programs` by absolute path; a text is a link to another path. */
  constructor(deps: {
    programs: Readonly<Record<string, Program | string>>;
    clock: Clock;
    timeoutMs?: number | undefined;
  }) {
    this.#timeoutMs = deps.timeoutMs ?? EXEC_TIMEOUT_MS;
    this.#programs = new Map(Object.entries(deps.programs));
    this.#clock = deps.clock;
  }

  /** The canonical path of a command; a bare name is looked for in PATH. */
  find(command: string): string | undefined {
    const candidates = command.includes('/')
      ? [command]
      : SEARCH_PATH.map((directory) => `${directory}/${command}`);
    return candidates.map(canonicalPath).find((path) => this.#programs.has(path));
  }

  async run(
    path: string,
    params: readonly string[],
    by: Cause,
  ): Promise<ProgramResult | 'timeout'> {
    const entry = this.#programs.get(path);
    const program = typeof entry === 'string' ? this.#programs.get(entry) : entry;
    if (typeof program !== 'function') throw new Error(`no program ${path}`);
    const killed = new AbortController();
    const timeout = this.#clock
      .wait(this.#timeoutMs, killed.signal)
      .then(() => 'timeout' as const)
      .catch(() => 'timeout' as const);
    const result = await Promise.race([
      Promise.resolve(program({ name: path, params, by, signal: killed.signal })),
      timeout,
    ]);
    killed.abort();
    return result;
  }
}

export const printed = (stdout: string): ProgramResult => ({ code: 0, stdout, stderr: '' });
export const complained = (code: number, stderr: string): ProgramResult => ({
  code,
  stdout: '',
  stderr,
});
