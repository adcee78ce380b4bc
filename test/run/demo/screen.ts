/**
 * What the demo's watcher sees: numbered steps with their times, and one table that redraws in
 * place on a terminal.
 */

export type Screen = {
  /** Runs one step under its number; prints its title, what it says, and how long it took. */
  step: <T>(title: string, run: () => Promise<T>) => Promise<T>;
  say: (line: string) => void;
  /**
   * Replaces the table shown last; without a terminal it prints only when `lines` differ from the
   * last.
   */
  table: (lines: readonly string[]) => void;
  /** What is below stays: the next table is a new one. */
  keepTable: () => void;
  /** Seconds of each step so far, in order. */
  times: readonly { title: string; seconds: number }[];
};

export const createScreen = (output: NodeJS.WriteStream): Screen => {
  const times: { title: string; seconds: number }[] = [];
  let shown: readonly string[] = [];

  const say = (line: string): void => {
    output.write(`   ${line}\n`);
    shown = [];
  };

  const table = (lines: readonly string[]): void => {
    if (lines.join('\n') === shown.join('\n')) return;
    if (output.isTTY && shown.length > 0) output.write(`\u001B[${shown.length}A\u001B[J`);
    for (const line of lines) output.write(`   ${line}\n`);
    shown = lines;
  };

  const step = async <T>(title: string, run: () => Promise<T>): Promise<T> => {
    output.write(`\n${bold(output, `${times.length + 1}. ${title}`)}\n`);
    shown = [];
    const started = performance.now();
    const result = await run();
    const seconds = (performance.now() - started) / 1000;
    times.push({ title, seconds });
    output.write(`   ${green(output, '✓')} ${seconds.toFixed(1)} s\n`);
    return result;
  };

  return { step, say, table, keepTable: () => (shown = []), times };
};

const bold = (output: NodeJS.WriteStream, text: string): string =>
  output.isTTY ? `\u001B[1m${text}\u001B[0m` : text;
const green = (output: NodeJS.WriteStream, text: string): string =>
  output.isTTY ? `\u001B[32m${text}\u001B[0m` : text;
