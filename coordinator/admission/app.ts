/**
 * The webhooks over HTTP. Whatever is sent gets an answer: one that is no AdmissionReview a 400, a failure of ours a 500, which
 * the API server then treats by the webhook's failurePolicy.
 */
import { Hono, type Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import * as z from 'zod';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Logger } from '#shared/runtime/log.ts';
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
  /** By path below `/admission/`. */
  webhooks: Readonly<Record<string, Webhook>>;
  /** `result`: allowed, warned, denied, malformed or failed. */
  onResult: (webhook: string, result: string) => void;
  log: Logger;
};

/** An object of etcd's limit of 1.5 MiB, twice, with room for the envelope. */
export const MAX_REVIEW_BYTES = 4 * 1_048_576;
/** Below the webhooks' timeoutSeconds, so that the API server hears why. */
const TIMEOUT_MS = 4_000;

export const createAdmissionApp = (deps: AdmissionAppDeps): Hono => {
  const app = new Hono();
  const tooLarge = (context: Context): Response => context.text('the review is too large\n', 413);
  for (const [name, webhook] of Object.entries(deps.webhooks))
    app.post(
      `/admission/${name}`,
      bodyLimit({ maxSize: MAX_REVIEW_BYTES, onError: tooLarge }),
      (context) => answer(context, { ...deps, name, webhook }),
    );
  app.notFound((context) => context.text('no such webhook\n', 404));
  return app;
};

type OneWebhook = AdmissionAppDeps & { name: string; webhook: Webhook };

const answer = async (
  context: Context,
  { name, webhook, onResult, log }: OneWebhook,
): Promise<Response> => {
  const review = admissionReviewSchema.safeParse(await context.req.json().catch(() => undefined));
  if (!review.success) {
    onResult(name, 'malformed');
    return context.text('the body is not an AdmissionReview of admission.k8s.io/v1\n', 400);
  }
  const { request } = review.data;
  const signal = AbortSignal.any([context.req.raw.signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    const verdict = await judge(webhook, request, signal);
    onResult(name, resultOf(verdict));
    if (!verdict.allowed)
      log.info(
        { ...subjectOf(request, name), reason: verdict.message },
        'admission denied a request',
      );
    return context.json(answerOf(request.uid, verdict));
  } catch (err) {
    onResult(name, 'failed');
    log.error({ ...subjectOf(request, name), err }, 'failed to answer an admission review');
    return context.text(`${messageOf(err)}\n`, 500);
  }
};

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
