/** What containers have printed, as a kubelet answers the API server. */
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const FOLLOW_POLL_MS = 100;
const LOG_PATH = /^\/containerLogs\/([^/]+)\/([^/]+)\/([^/]+)$/;

export type ContainerLogsOptions = {
  logsDirectory: string;
  /** Following ends when the container has. */
  isRunning: (namespace: string, pod: string, container: string) => boolean;
  signal: AbortSignal;
};

/** False when the path is not one of a log. */
export const answerLogs = async (
  url: URL,
  response: ServerResponse,
  options: ContainerLogsOptions,
): Promise<boolean> => {
  const [, namespace, pod, container] = LOG_PATH.exec(url.pathname) ?? [];
  if (!namespace || !pod || !container) return false;
  const file = join(options.logsDirectory, namespace, pod, `${container}.log`);
  const lines = url.searchParams.get('tailLines');
  let position = lines === null ? 0 : await findTail(file, Number(lines));
  response.writeHead(200, { 'content-type': 'text/plain' });

  const follows = url.searchParams.get('follow') === 'true';
  for (;;) {
    // Asked before reading, so that the last lines of a container that ends meanwhile are not
    // missed.
    const goesOn = follows && options.isRunning(namespace, pod, container);
    position += await copyFrom(file, position, response);
    if (!goesOn || response.destroyed || options.signal.aborted) break;
    await sleep(FOLLOW_POLL_MS);
  }
  response.end();
  return true;
};

/** Number of bytes copied; a log that isn't there yet is an empty one. */
const copyFrom = async (file: string, start: number, response: ServerResponse): Promise<number> => {
  const { size } = await stat(file).catch(() => ({ size: 0 }));
  if (size <= start) return 0;
  for await (const chunk of createReadStream(file, { start, end: size - 1 })) {
    response.write(chunk);
  }
  return size - start;
};

/** Where the last lines begin. */
const findTail = async (file: string, lines: number): Promise<number> => {
  const text = await readFile(file).catch(() => Buffer.alloc(0));
  let position = text.length;
  // The newline at the end belongs to the last line.
  for (let left = lines; left > 0 && position > 0; left -= 1) {
    position = text.lastIndexOf('\n', position - 2) + 1;
  }
  return position;
};
