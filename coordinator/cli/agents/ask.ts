/** What agents answer to people, through a port-forward to their pods. */
import { request, type IncomingMessage } from 'node:http';
import { finished, type Duplex } from 'node:stream';
import type * as z from 'zod';
import {
  INSPECT_PATHS,
  INSPECT_PORT,
  inspectionSchema,
  resyncedSchema,
  type Inspection,
  type Resynced,
} from '#shared/protocol/inspection.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { withDeadline } from '#shared/runtime/deadline.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { jsonIn } from '#shared/util/json.ts';
import { parseUntrusted } from '#shared/util/untrusted.ts';
import type { Cluster } from '../cluster/connect.ts';
import { CannotTellError } from '../command.ts';
import type { AgentPod } from '../../views/cluster-facts.ts';

export type PodName = Pick<AgentPod, 'name' | 'namespace'>;
type Connect = Pick<Cluster, 'connectToPod'>;

/** The agent answers within 20 s, and within 60 s when it is asked for a pass. */
const INSPECT_MS = 25_000;
const RESYNC_MS = 65_000;
const METRICS_MS = 10_000;
/** It answers one at a time. */
const TRIES = 5;
/** An inspection of 10,000 rules has about half as much. */
const MAX_ANSWER_BYTES = 16_777_216;
const RETRY_MS = 1_000;

const INSPECT = { method: 'GET', path: INSPECT_PATHS.inspect, timeoutMs: INSPECT_MS } as const;
const RESYNC = { method: 'POST', path: INSPECT_PATHS.resync, timeoutMs: RESYNC_MS } as const;

/** @throws LackingRightsError; CannotTellError where the agent gives no answer that is known */
export const inspectAgent = async (
  cluster: Connect,
  pod: PodName,
  signal: AbortSignal,
): Promise<Inspection> => parsed(pod, await ask(cluster, pod, INSPECT, signal), inspectionSchema);

/** @throws as `inspectAgent` */
export const resync = async (
  cluster: Connect,
  pod: PodName,
  signal: AbortSignal,
): Promise<Resynced> => parsed(pod, await ask(cluster, pod, RESYNC, signal), resyncedSchema);

/** The firewall's rules as nft lists them; `unread`: why there are none. @throws as above */
export const kernelRules = async (
  cluster: Connect,
  pod: PodName,
  signal: AbortSignal,
): Promise<{ text: string } | { unread: string }> => {
  const answer = await ask(
    cluster,
    pod,
    { method: 'GET', path: INSPECT_PATHS.kernel, timeoutMs: INSPECT_MS },
    signal,
  );
  return answer.status === NOT_READ
    ? { unread: answer.text.trim() }
    : { text: wellDone(pod, answer) };
};

/**
 * What Prometheus gets: a coordinator's by its own port, an agent's by `INSPECT_PORT`.
 * @throws as `inspectAgent`
 */
export const metricsOf = async (
  cluster: Connect,
  pod: PodName,
  port: number,
  signal: AbortSignal,
): Promise<string> => {
  const question = { method: 'GET' as const, path: '/metrics', timeoutMs: METRICS_MS, port };
  return wellDone(pod, await ask(cluster, pod, question, signal));
};

const NOT_READ = 501;
const TOO_MANY = 429;

type Answer = { status: number; text: string };
type Question = { method: 'GET' | 'POST'; path: string; timeoutMs: number; port?: number };

const ask = async (
  cluster: Connect,
  pod: PodName,
  { method, path, timeoutMs, port = INSPECT_PORT }: Question,
  signal: AbortSignal,
): Promise<Answer> => {
  for (let tried = 1; ; tried += 1) {
    const to = { namespace: pod.namespace, pod: pod.name, port };
    const stream = await cluster.connectToPod(to, signal).catch((error: unknown) => {
      throw error instanceof CannotTellError ? error : noAnswer(pod, error);
    });
    try {
      const answer = await withDeadline({ timeoutMs, signal }, (cut) =>
        exchange(stream, { method, path, port, signal: cut }),
      );
      if (answer.status !== TOO_MANY || tried === TRIES) return answer;
    } catch (error) {
      // What the kubelet says of the connection comes before what becomes of the request by it.
      throw noAnswer(pod, stream.errored ?? error);
    } finally {
      stream.destroy();
    }
    await systemClock.sleep(RETRY_MS, signal);
  }
};

const noAnswer = ({ name }: PodName, error: unknown): CannotTellError =>
  new CannotTellError(`${name} does not answer: ${messageOf(error)}`, {
    cause: error,
  });

type Exchange = { method: string; path: string; port: number; signal: AbortSignal };

const exchange = async (
  stream: Duplex,
  { method, path, port, signal }: Exchange,
): Promise<Answer> => {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  // The agent answers by the names of loopback only.
  const options = {
    method,
    path,
    host: 'localhost',
    port,
    createConnection: () => stream,
    signal,
  };
  request(options, resolve).on('error', reject).end();
  // A stream that ended before the request had it tells the request nothing, and no timer keeps the
  // program from ending then.
  finished(stream, () => reject(new Error('the connection has ended')));
  const response = await promise;
  return { status: response.statusCode ?? 0, text: await textOf(response) };
};

/** The agent's text, or that of another program in its place. */
const textOf = async (response: AsyncIterable<Buffer>): Promise<string> => {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response) {
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES)
      throw new Error(`its answer has more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

const wellDone = (pod: PodName, { status, text: answer }: Answer): string => {
  if (status !== 200) throw noAnswer(pod, new Error(answer.trim() || `HTTP ${status}`));
  return answer;
};

const parsed = <T extends z.ZodType>(pod: PodName, answer: Answer, schema: T): z.output<T> => {
  const { data, error } = parseUntrusted(schema, jsonIn(wellDone(pod, answer)));
  if (error)
    throw new CannotTellError(
      `${pod.name} answers in a form that this program does not know; \`sdewan version\` shows the versions of both`,
      { cause: error },
    );
  return data;
};
