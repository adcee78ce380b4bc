/** A coordinator as a process of its own. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import * as z from 'zod';
import type { ControlGroup } from '../../attacks/control-group.ts';
import { COMPILE_CACHE } from '../../stack/compile-cache.ts';
import { programFile } from '../../stack/programs.ts';

/**
 * Half a second on an idle machine; beside 10,000 of the largest rules on a loaded one it takes
 * minutes.
 */
export const START_TIMEOUT_MS = 240_000;

const lineSchema = z.looseObject({
  msg: z.string(),
  reportPort: z.number().optional(),
  httpPort: z.number().optional(),
  dashboardPort: z.number().optional(),
});
export type LogLine = z.infer<typeof lineSchema>;

export type CoordinatorProcess = {
  pid: number;
  reportUrl: string;
  httpUrl: string;
  /** Undefined: it has none. */
  dashboardUrl: string | undefined;
  /** Lines of its log, parsed. */
  log: readonly LogLine[];
  /** As a signal does that it survives. */
  send: (signal: NodeJS.Signals) => void;
  stop: (signal: NodeJS.Signals) => Promise<number | null>;
};

/** `group`: in which it runs. `log`: where the lines of its log go. */
export const startCoordinatorProcess = async (
  group: ControlGroup | undefined,
  env: Record<string, string>,
  log: LogLine[] = [],
): Promise<CoordinatorProcess> => {
  const command = [process.execPath, programFile('coordinator')];
  const [program = '', ...args] = group?.inside(command) ?? command;
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'], ...COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', resolve);
  });
  const started = Promise.withResolvers<LogLine>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const entry = lineSchema.parse(JSON.parse(line));
    log.push(entry);
    if (entry.httpPort !== undefined) started.resolve(entry);
  });
  const timeout = setTimeout(
    () => started.reject(new Error(`coordinator not up in ${START_TIMEOUT_MS} ms`)),
    START_TIMEOUT_MS,
  );
  void exited.then((code) => started.reject(new Error(`coordinator exited with ${code}`)));
  const { reportPort, httpPort, dashboardPort } = await started.promise.finally(() =>
    clearTimeout(timeout),
  );
  return {
    pid: child.pid ?? 0,
    reportUrl: `https://127.0.0.1:${reportPort}`,
    httpUrl: `http://127.0.0.1:${httpPort}`,
    dashboardUrl: dashboardPort === undefined ? undefined : `http://127.0.0.1:${dashboardPort}`,
    log,
    send: (signal) => void child.kill(signal),
    stop: (signal) => {
      child.kill(signal);
      return exited;
    },
  };
};
