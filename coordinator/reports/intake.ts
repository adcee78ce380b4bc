/**
 * Takes the reports of agents, and tells them whether the API server is away. A refused one changes
 * nothing, but for `not-leading`; what is taken is handed to `onReport` before the answer goes out.
 */
import type { HttpBindings } from '@hono/node-server';
import { Hono, type Context, type MiddlewareHandler } from 'hono';
import type { Socket } from 'node:net';
import * as z from 'zod';
import { API_SERVER_PATH, type ApiServerAnswer } from '#shared/protocol/api-server.ts';
import {
  MAX_RULES_PER_PAGE,
  OTHERS_HEADER,
  REPORT_VERSION,
  reportSchema,
  type FleetOrder,
  type Report,
  type ReportAnswer,
  type UnreadOthers,
} from '#shared/protocol/report.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { bodyInTime } from '#shared/http/body-in-time.ts';
import { bodyLimit } from '#shared/http/body-limit.ts';
import { createGate } from '#shared/http/gate.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Logger } from '#shared/runtime/log.ts';
import type { Rate } from '#shared/runtime/rate.ts';
import type { Allowance } from './memory-allowance.ts';
import { MAX_PAGES, type Acceptance, type Moment, type Reports } from './reports.ts';
import type { CnfPod } from '../sources/cnf-pod.ts';
import { identify, type IdentifyDeps, type Reporter } from './identify.ts';
import { KeptConnections } from './kept-connections.ts';
import { Refusal, type RefusalCode } from './refusal-codes.ts';
import { withoutWrongTimes } from './wrong-times.ts';

export type IntakeDeps = IdentifyDeps & {
  reports: Reports;
  allowance: Allowance;
  /** Made anew at each start; agents report in full when it changes. */
  epoch: string;
  /** The number of the term in which this replica leads. */
  term: () => number | undefined;
  /** What the pod of that uid is to be told. */
  orderFor: (podUid: string) => FleetOrder | undefined;
  wasApiServerAway: () => boolean;
  /** Whether the pods are known, so that a spoofed report can be recognized. */
  isReady: () => boolean;
  onReport: (pod: CnfPod, acceptance: Acceptance) => void;
  /** The report of the pod of that uid has to go. */
  onPushedOut: (podUid: string) => void;
  /** New information about an OpenWRT was reported. */
  onInformation: (pod: CnfPod) => void;
  onCounters: (pod: CnfPod) => void;
  /** Files of its OpenWRT have lost their comments. Can be reported again. */
  onCommentsLost: (pod: CnfPod, packages: readonly string[]) => void;
  /** The agent cannot write its state folder, and why. */
  onStateFolder: (pod: CnfPod, cause: string) => void;
  /** The agent cannot compare sections of others with the kernel. */
  onUnreadOthers: (pod: CnfPod, unread: readonly UnreadOthers[]) => void;
  /** An agent has said when changes have come to OpenWRT. Undefined: none is to. */
  onTimes: ((pod: CnfPod, report: Report) => void) | undefined;
  onResult: (result: Acceptance['outcome'] | RefusalCode) => void;
  /** Reports and pages of a pod. */
  rate: Pick<Rate, 'take'>;
  clock: Clock;
  log: Logger;
};

export const MAX_REPORT_BYTES = 1_048_576;
/** Problems of a malformed report that are listed; the first few are enough. */
const MAX_DETAILS = 5;
/** Bytes of bodies that are in memory; namespaces take turns. */
const MAX_BYTES_AT_ONCE = 8 * MAX_REPORT_BYTES;
/** Reports of a namespace. */
const MAX_WAITING = 200;
const MAX_WAIT_MS = 5_000;
/** Within a cluster a full page takes milliseconds. */
const BODY_TIMEOUT_MS = 3_000;
/** Anyone can ask for any path. */
const MAX_LOGGED_PATH = 300;
/** Connections that stay open. */
const MAX_KEPT = 2_000;

const PATH = '/v1/namespaces/:namespace/pods/:pod/report';

type Env = { Bindings: Partial<HttpBindings>; Variables: { reporter: Reporter } };

export const createIntake = (deps: IntakeDeps): Hono<Env> => {
  const app = new Hono<Env>();
  const kept = new KeptConnections({ most: MAX_KEPT });

  app.post(
    PATH,
    oneInTurn(deps),
    bodyLimit({
      maxSize: MAX_REPORT_BYTES,
      onError: () => {
        throw new Refusal('too-large');
      },
    }),
    bodyInTime({
      timeoutMs: BODY_TIMEOUT_MS,
      onError: () => {
        throw new Refusal('too-slow');
      },
    }),
    async (context) => {
      const { pod, purpose } = context.get('reporter');
      const sent = parse(await context.req.text());
      if (sent.purpose !== purpose) throw new Refusal('other-purpose');
      if (!takesPages(deps, pod, sent)) throw new Refusal('too-often');
      const { allowance, clock, epoch, reports } = deps;
      const { report: allowed, keep } = allowance.take(pod, completed(deps, pod, sent));
      const at = { monotonic: clock.monotonic(), wall: clock.now() };
      const report = withoutWrongTimes(allowed, at.wall);
      const acceptance = reports.accept(pod.uid, report, at);
      if (acceptance.outcome === 'old-boot') throw new Refusal('old-boot');
      if (acceptance.outcome !== 'stale')
        keep(acceptance.outcome === 'partial').forEach(deps.onPushedOut);
      deps.onResult(acceptance.outcome);
      deps.onReport(pod, acceptance);
      const wantsFull = isWantedInFull(allowance, { pod, report, acceptance });
      if (!wantsFull && acceptance.outcome !== 'stale') keepObserved(deps, pod, { report, at });
      if (deps.term() === undefined) sendOn(context.req.header(OTHERS_HEADER), acceptance);
      else if (report.commentsLost && !wantsFull) deps.onCommentsLost(pod, report.commentsLost);
      tellBesideRules(deps, pod, { report, acceptance });
      const answer: ReportAnswer = {
        epoch,
        version: REPORT_VERSION,
        ...leadersPart(deps, pod),
        ...(wantsFull && { wantsFull }),
      };
      if (!kept.keep(pod.uid, socketOf(context), answer.fleet !== undefined))
        context.header('Connection', 'close');
      return context.json(answer);
    },
  );

  // Without a token: a new one cannot be checked while the API server is away, and the reader
  // learns what its own connection tells.
  app.get(API_SERVER_PATH, (context) => {
    const answer: ApiServerAnswer = { wasAway: deps.wasApiServerAway() };
    // Else anybody could have as many connections kept as he likes.
    context.header('Connection', 'close');
    return context.json(answer);
  });

  app.notFound(() => {
    throw new Refusal('not-found');
  });

  app.onError((error, context) => {
    const refusal = error instanceof Refusal ? error : new Refusal('unavailable', { cause: error });
    const { code, details, status } = refusal;
    deps.onResult(code);
    const reason = refusal.cause === undefined ? undefined : messageOf(refusal.cause);
    // Only until the agent has come to the one that leads.
    if (code !== 'not-leading')
      deps.log.warn(
        { path: context.req.path.slice(0, MAX_LOGGED_PATH), code, reason, details },
        'report refused',
      );
    // The rest of a refused body is not read, so the connection is of no more use.
    context.header('Connection', 'close');
    if (status === 503 || status === 429) context.header('Retry-After', '2');
    return context.json({ error: { code, message: refusal.message, details } }, status);
  });

  return app;
};

/** Before anything of the body is read: only agents may use a megabyte of memory. */
const oneInTurn = (deps: IntakeDeps): MiddlewareHandler<Env, typeof PATH> => {
  const bodies = createGate({
    most: MAX_BYTES_AT_ONCE,
    waiting: MAX_WAITING,
    timeoutMs: MAX_WAIT_MS,
  });
  /** Pods of which a body is being read: an agent sends one after the other. */
  const reading = new Set<string>();
  return async (context, next) => {
    if (!deps.isReady()) throw new Refusal('unavailable');
    const { namespace, pod } = context.req.param();
    const authorization = context.req.header('authorization');
    const reporter = await identify(deps, authorization, { namespace, pod }, context.req.raw);
    const { uid } = reporter.pod;
    if (reading.has(uid) || !deps.rate.take(uid)) throw new Refusal('too-often');
    context.set('reporter', reporter);
    const length = Number(context.req.header('content-length') ?? MAX_REPORT_BYTES);
    reading.add(uid);
    try {
      const leave = await bodies.enter(Math.min(length, MAX_REPORT_BYTES), namespace);
      if (leave === undefined) throw new Refusal('unavailable');
      await next().finally(leave);
    } finally {
      reading.delete(uid);
    }
  };
};

/** Undefined in a process without a server. */
const socketOf = ({ env }: Pick<Context<Env>, 'env'>): Socket | undefined => env?.incoming?.socket;

/** A report of changes is compared as the whole one that it comes to, and counts as its pages. */
const takesPages = (
  { rate, reports }: Pick<IntakeDeps, 'rate' | 'reports'>,
  { uid }: CnfPod,
  { repeats, rules, gone = [] }: Report,
): boolean => {
  const pages = Math.floor((reports.of(uid)?.rules.size ?? 0) / MAX_RULES_PER_PAGE);
  const isOfChanges = repeats !== undefined && rules.length + gone.length > 0;
  return !isOfChanges || pages === 0 || rate.take(uid, pages);
};

/** Not by a report of which something was left out. */
const completed = (
  { allowance, reports }: Pick<IntakeDeps, 'allowance' | 'reports'>,
  { uid }: CnfPod,
  sent: Report,
): Report => (allowance.isIncomplete(uid) ? sent : reports.completed(uid, sent));

const isWantedInFull = (
  allowance: Allowance,
  { pod, report, acceptance }: { pod: CnfPod; report: Report; acceptance: Acceptance },
): boolean =>
  acceptance.outcome === 'unknown-base' ||
  (report.repeats !== undefined && allowance.isIncomplete(pod.uid));

const keepObserved = (
  { reports, onCounters, onInformation }: IntakeDeps,
  pod: CnfPod,
  { report: { information, counters }, at }: { report: Report; at: Moment },
): void => {
  if (information) {
    reports.inform(pod.uid, information, at);
    onInformation(pod);
  }
  if (counters) {
    reports.count(pod.uid, counters);
    onCounters(pod);
  }
};

/**
 * An agent that reports to no other coordinator is to go on looking for the one that leads. This
 * one knows all of its report then, for the case that it comes to lead.
 * @throws Refusal
 */
const sendOn = (others: string | undefined, { outcome }: Acceptance): void => {
  if (Number(others ?? 0) > 0 || outcome === 'partial' || outcome === 'unknown-base') return;
  throw new Refusal('not-leading');
};

/** What is taken once must be taken by the one that writes Events. */
const leadersPart = (
  { term, orderFor, onTimes }: Pick<IntakeDeps, 'term' | 'orderFor' | 'onTimes'>,
  { uid }: CnfPod,
): Partial<ReportAnswer> => {
  const leaseTransitions = term();
  if (leaseTransitions === undefined) return {};
  const fleet = orderFor(uid);
  return {
    leaseTransitions,
    ...(onTimes && { wantsTimes: true }),
    ...(fleet && { fleet }),
  };
};

const tellBesideRules = (
  {
    onStateFolder,
    onUnreadOthers,
    onTimes,
  }: Pick<IntakeDeps, 'onStateFolder' | 'onUnreadOthers' | 'onTimes'>,
  pod: CnfPod,
  { report, acceptance }: { report: Report; acceptance: Acceptance },
): void => {
  if (acceptance.outcome === 'stale') return;
  if (report.stateFolder) onStateFolder(pod, report.stateFolder);
  if (report.unreadOthers) onUnreadOthers(pod, report.unreadOthers);
  if (report.times) onTimes?.(pod, report);
};

const versionedSchema = z.looseObject({ version: z.int() });

const parse = (text: string): Report => {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw new Refusal('not-json', { cause });
  }
  const { version } = versionedSchema.safeParse(body).data ?? {};
  if (version !== undefined && version !== REPORT_VERSION)
    throw new Refusal('other-version', {
      details: [`version: ${version}; this coordinator speaks ${REPORT_VERSION}`],
    });
  const result = reportSchema.safeParse(body);
  if (!result.success)
    throw new Refusal('bad-report', {
      details: result.error.issues
        .slice(0, MAX_DETAILS)
        .map(({ path, message }) => `${path.join('.')}: ${message}`),
    });
  const { page, pages, repeats, gone } = result.data;
  if (pages > MAX_PAGES || page >= pages)
    throw new Refusal('bad-report', {
      details: [`page: ${page} of ${pages}, at most ${MAX_PAGES}`],
    });
  if (repeats !== undefined && pages > 1)
    throw new Refusal('bad-report', { details: ['repeats: such a report has one page'] });
  if (repeats === undefined && gone !== undefined)
    throw new Refusal('bad-report', { details: ['gone: only with repeats'] });
  return result.data;
};
