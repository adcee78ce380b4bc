/**
 * The webhooks over HTTP, for the API server, which knows the end of their paths. Other callers get
 * no more than a 404, and nothing of what they send is read, kept or logged. The API server always
 * gets an answer: what is no AdmissionReview a 400, a failure of ours a 500, which the API server
 * then treats by the webhook's failurePolicy.
 */
import type { HttpBindings } from '@hono/node-server';
import { Hono, type Context, type MiddlewareHandler } from 'hono';
import * as z from 'zod';
import { bodyInTime } from '#shared/http/body-in-time.ts';
import { bodyLimit } from '#shared/http/body-limit.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { createGate, type Gate } from '#shared/http/gate.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { withDeadline } from '#shared/runtime/deadline.ts';
import { ADMISSION_PATH } from '../controllers/certificates/webhook-configurations.ts';
import { denied } from './decide.ts';
import {
  admissionReviewSchema,
  answerOf,
  type AdmissionRequest,
  type ReviewVerdict,
} from './review.ts';

export type Webhook = (
  request: AdmissionRequest,
  signal: AbortSignal,
) => ReviewVerdict | Promise<ReviewVerdict>;

export type AdmissionAppDeps = {
  /** By path below `/admission/`, without the token behind it. */
  webhooks: Readonly<Record<string, Webhook>>;
  isGoodToken: (token: string) => boolean;
  /** `result`: allowed, warned, denied, malformed or failed. `seconds`: from review to answer. */
  onResult: (webhook: string, result: string, seconds: number) => void;
  clock: Pick<Clock, 'monotonic'>;
  log: Logger;
};

/** The old and the new object, of up to 1.5 MiB each (etcd's limit), with room for the envelope. */
export const MAX_REVIEW_BYTES = 4 * 1_048_576;
/** The room for large bodies in memory; parsed they take about ten times as much. */
const MAX_BYTES_AT_ONCE = 8 * 1_048_576;
/**
 * A pod has 20 KiB at most as a rule, and most rules have less: none of them waits for another
 * tenant's of half a megabyte.
 */
const MAX_SMALL_BYTES = 65_536;
const MAX_SMALL_BYTES_AT_ONCE = 1_048_576;
/** Some of them ask the API server. */
const MAX_AT_ONCE = 16;
const MAX_WAITING = 1_000;
/** The webhooks' timeoutSeconds, where a call does not name another. */
const TIMEOUT_SECONDS = 5;
/** The API server gets the reason of a failure while it still waits. */
const ANSWER_TAKES_MS = 200;
/** A review that waits for its turn has time left in which it is judged. */
const MAX_WAIT_MS = TIMEOUT_SECONDS * 1_000 - 1_000;
/** An API server sends a review at once. */
const BODY_TIMEOUT_MS = 3_000;

export const createAdmissionApp = (deps: AdmissionAppDeps): Hono => {
  const app = new Hono();
  const tooLarge = (context: Context): Response => context.text('the review is too large\n', 413);
  const gateFor = (most: number): Gate =>
    createGate({ most, waiting: MAX_WAITING, timeoutMs: MAX_WAIT_MS });
  const large = gateFor(MAX_BYTES_AT_ONCE);
  const small = gateFor(MAX_SMALL_BYTES_AT_ONCE);
  const parsing = gateFor(1);
  const work = gateFor(MAX_AT_ONCE);
  const strangersOut: MiddlewareHandler = async (context, next) =>
    deps.isGoodToken(context.req.param('token') ?? '') ? next() : context.notFound();
  const lengthOf = (context: Context): number =>
    Math.min(Number(context.req.header('content-length') ?? MAX_REVIEW_BYTES), MAX_REVIEW_BYTES);
  const oneAfterTheOther: MiddlewareHandler = async (context, next) => {
    const length = lengthOf(context);
    const gate = length > MAX_SMALL_BYTES ? large : small;
    const leave = await gate.enter(length, addressOf(context));
    if (leave === undefined) return context.text('too many reviews at once\n', 503);
    try {
      return await next();
    } finally {
      leave();
    }
  };
  const inTime = bodyInTime({
    timeoutMs: BODY_TIMEOUT_MS,
    onError: (context) => context.text('the review did not come in time\n', 408),
  });
  const limited = bodyLimit({ maxSize: MAX_REVIEW_BYTES, onError: tooLarge });
  /** Milliseconds of work each, so that whatever else has come is done between two of them. */
  const largeOnesWithPauses: MiddlewareHandler = async (context, next) => {
    if (lengthOf(context) <= MAX_SMALL_BYTES) return next();
    const leave = await parsing.enter(1);
    if (leave === undefined) return context.text('too many large reviews at once\n', 503);
    setImmediate(leave);
    return next();
  };
  for (const [name, webhook] of Object.entries(deps.webhooks))
    app.post(
      `${ADMISSION_PATH}${name}/:token`,
      strangersOut,
      oneAfterTheOther,
      limited,
      inTime,
      largeOnesWithPauses,
      (context) => answer(context, { ...deps, work, name, webhook }),
    );
  app.notFound((context) => {
    // What is left of the body is not read, so the connection is of no more use.
    context.header('Connection', 'close');
    return context.text('no such webhook\n', 404);
  });
  return app;
};

/** Undefined in a process without a server. */
const addressOf = ({ env }: Context<{ Bindings?: HttpBindings }>): string | undefined =>
  env?.incoming.socket.remoteAddress;

type OneWebhook = AdmissionAppDeps & {
  name: string;
  webhook: Webhook;
  /** Namespaces take turns. */
  work: Gate;
};

const answer = async (
  context: Context,
  { name, webhook, work, clock, log, ...deps }: OneWebhook,
): Promise<Response> => {
  const startedAt = clock.monotonic();
  const count = (result: string): void =>
    deps.onResult(name, result, (clock.monotonic() - startedAt) / 1_000);
  const review = admissionReviewSchema.safeParse(await context.req.json().catch(() => undefined));
  if (!review.success) {
    count('malformed');
    return context.text('the body is not an AdmissionReview of admission.k8s.io/v1\n', 400);
  }
  const { request } = review.data;
  const leave = await work.enter(1, request.namespace);
  if (leave === undefined) {
    count('failed');
    return context.text('too many reviews of this namespace at once\n', 503);
  }
  try {
    const verdict = await withDeadline(
      { timeoutMs: timeoutMsOf(context) - ANSWER_TAKES_MS, signal: context.req.raw.signal },
      (signal) => judge(webhook, request, signal),
    );
    count(resultOf(verdict));
    if (!verdict.allowed)
      log.info(
        { ...subjectOf(request, name), reason: verdict.message },
        'admission denied a request',
      );
    return context.json(answerOf(request.uid, verdict));
  } catch (err) {
    count('failed');
    log.error({ ...subjectOf(request, name), err }, 'failed to answer an admission review');
    return context.text(`${messageOf(err)}\n`, 500);
  } finally {
    // Whatever else has come is done before the next one, which may take milliseconds of work.
    setImmediate(leave);
  }
};

/** The API server adds `timeout=5s` to the URL (measured on 1.36). */
const timeoutMsOf = (context: Context): number =>
  1_000 * Number(/^(\d+)s$/.exec(context.req.query('timeout') ?? '')?.[1] ?? TIMEOUT_SECONDS);

/** Mutating webhooks see objects before the API server has validated them. */
const judge = async (
  webhook: Webhook,
  request: AdmissionRequest,
  signal: AbortSignal,
): Promise<ReviewVerdict> => {
  try {
    return await webhook(request, signal);
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    const [issue] = error.issues;
    return denied(
      { reason: 'InvalidSpec' },
      `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'has not the form of its kind'}`,
    );
  }
};

const resultOf = ({ allowed, warnings }: ReviewVerdict): string => {
  if (!allowed) return 'denied';
  return warnings.length > 0 ? 'warned' : 'allowed';
};

const subjectOf = (
  { operation, resource, namespace, name, object, oldObject, userInfo }: AdmissionRequest,
  webhook: string,
): Record<string, unknown> => ({
  webhook,
  operation,
  resource: resource.resource,
  namespace,
  object: name || (object ?? oldObject)?.metadata.name,
  user: userInfo.username,
});
