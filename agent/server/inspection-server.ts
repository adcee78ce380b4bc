/**
 * What the agent tells to people, on loopback of the pod: a user with the right to forward a port
 * to the pod reaches it, and its own containers do. It shows nothing that the CNF does not have,
 * and does nothing that the CNF could not bring about itself.
 */
import type { IncomingMessage } from 'node:http';
import { INSPECT_PATHS, type Inspection, type Resynced } from '#shared/protocol/inspection.ts';
import { bareHost } from '#shared/http/host.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { isLoopback } from '#shared/http/loopback.ts';
import { own } from '#shared/util/own.ts';
import type { Registry } from '#shared/metrics/prometheus.ts';
import { Rate } from '#shared/runtime/rate.ts';
import { metricsAnswer, PLAIN, serve, type Answer, type RunningHttp } from './serve.ts';

export type InspectServerDeps = {
  /** On loopback. */
  url: string;
  inspect: () => Promise<Inspection>;
  /** The rules of the kernel; or why they cannot be read. */
  kernel: () => { text: string } | { unread: string };
  /** Prometheus has them on the address of the pod, where no port-forward gets to. */
  metrics: Pick<Registry, 'contentType' | 'metrics'>;
  resync: () => Promise<Resynced>;
  clock: Pick<Clock, 'monotonic'>;
};

/** 10,000 rules have 6 MB. */
const MAX_ANSWER_BYTES = 16 * 1_048_576;
const MAX_CONNECTIONS = 4;
/** Each answer reads OpenWRT as a whole, and each pass may do more. */
const ANSWERS = { perSecond: 1, atOnce: 5 };
const PASSES = { perSecond: 0.1, atOnce: 3 };

/** Resolves when it listens. @throws when the address is taken */
export const serveInspection = async (deps: InspectServerDeps): Promise<RunningHttp> => {
  const { hostname, port } = new URL(deps.url);
  const answers = new Rate({ ...ANSWERS, clock: deps.clock });
  const passes = new Rate({ ...PASSES, clock: deps.clock });
  let isBusy = false;
  /** One at a time, and not too often. */
  const limited = async (rate: Rate, work: () => Promise<Answer>): Promise<Answer> => {
    if (isBusy || !rate.take()) return TOO_MANY;
    isBusy = true;
    try {
      return await work();
    } catch (error) {
      return { status: 503, type: PLAIN, text: `${messageOf(error)}\n` };
    } finally {
      isBusy = false;
    }
  };
  const routes: Readonly<Record<string, () => Promise<Answer>>> = {
    [`GET ${INSPECT_PATHS.inspect}`]: () =>
      limited(answers, async () => jsonOf(await deps.inspect())),
    [`GET ${INSPECT_PATHS.kernel}`]: () =>
      limited(answers, async () => {
        const read = deps.kernel();
        return 'text' in read
          ? bounded({ status: 200, type: PLAIN, text: read.text })
          : { status: 501, type: PLAIN, text: `${read.unread}\n` };
      }),
    [`GET ${INSPECT_PATHS.metrics}`]: () => limited(answers, () => metricsAnswer(deps.metrics)),
    [`POST ${INSPECT_PATHS.resync}`]: () =>
      limited(passes, async () => jsonOf(await deps.resync())),
  };
  const answer = async (request: Pick<IncomingMessage, 'method' | 'url' | 'headers'>) => {
    if (isOfAPage(request)) return OF_A_PAGE;
    return (await own(routes, `${request.method} ${request.url}`)?.()) ?? NOT_FOUND;
  };
  return serve({
    hostname: hostname.replaceAll(/[[\]]/g, ''),
    port: Number(port),
    answer,
    maxConnections: MAX_CONNECTIONS,
  });
};

/**
 * On the machine that forwards the port, a browser may have a page of another site open, which can
 * come here too: by a name of its own that leads to loopback, or by a form.
 */
const isOfAPage = ({ headers: { host, origin } }: Pick<IncomingMessage, 'headers'>): boolean =>
  origin !== undefined || !isLoopback(nameIn(host));

/** Without port and brackets. */
const nameIn = (host = ''): string => bareHost(host.replace(/:\d{1,5}$/, '')).toLowerCase();

const OF_A_PAGE: Answer = {
  status: 403,
  type: PLAIN,
  text: 'pages of browsers, and names other than localhost, get no answer\n',
};

const NOT_FOUND: Answer = {
  status: 404,
  type: PLAIN,
  text: 'GET /inspect, GET /kernel, GET /metrics and POST /resync are here\n',
};
const TOO_MANY: Answer = {
  status: 429,
  type: PLAIN,
  text: 'another answer is under way, or there were many just now; try again in a second\n',
};

const jsonOf = (value: object): Answer =>
  bounded({ status: 200, type: 'application/json', text: JSON.stringify(value) });

const bounded = (answer: Answer): Answer =>
  Buffer.byteLength(answer.text) <= MAX_ANSWER_BYTES
    ? answer
    : {
        status: 507,
        type: PLAIN,
        text: `the answer has more than ${MAX_ANSWER_BYTES} bytes\n`,
      };
