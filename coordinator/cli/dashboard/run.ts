import * as z from 'zod';
import { isNotFound } from '#shared/kube/errors.ts';
import { resourceV1 } from '#shared/kube/objects.ts';
import { forwardPort } from '#shared/kube/port-forward.ts';
import { DASHBOARD_AUDIENCE } from '#shared/names.ts';
import { aborted } from '#shared/runtime/aborted.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { orLacking, withCluster, type Cluster } from '../cluster/connect.ts';
import { CannotTellError, EXIT, optionsBy, type Run } from '../command.ts';
import { openerOf, openIn } from './browser.ts';
import { COORDINATORS, coordinatorPods, placeIn } from './find.ts';

const MAX_PORT = 65_535;
const optionsSchema = z.object({
  viewer: z.boolean().default(false),
  browser: z.boolean(),
  port: z.coerce.number({ error: '--port must be a number' }).int().min(0).max(MAX_PORT),
  namespace: z.string(),
});

const CODE_TIMEOUT_MS = 10_000;
const TOKEN_SECONDS = 3_600;
const VIEWER = 'sdewan-dashboard-viewer';

export const runDashboard: Run = ({ options }, io, signal) =>
  withCluster({ options, io }, async (cluster) => {
    const data = optionsBy(optionsSchema, options);
    const { namespace } = data;
    const place = placeIn(await podsIn(cluster, namespace, signal), namespace);
    if (typeof place === 'string') {
      io.say(place);
      return EXIT.no;
    }
    const token =
      (data.viewer ? undefined : await cluster.token()) ??
      (await viewersToken(cluster, namespace, signal));
    const { pod, port } = place;
    // The first connection says what is wrong with all.
    (await cluster.connectToPod({ namespace, pod, port }, signal)).destroy();
    const forwarded = await forwardPort(
      () => cluster.connectToPod({ namespace, pod, port }, signal),
      { localPort: data.port, onProblem: (problem) => io.say(messageOf(problem)) },
    );
    try {
      const origin = `http://127.0.0.1:${forwarded.port}`;
      const { code, user } = await codeFor(origin, token, signal);
      const url = `${origin}/enter?code=${code}`;
      io.say(`to be signed in as ${user}; the URL works once, for 30 seconds`);
      const opener = data.browser ? openerOf(process.platform, io.env) : undefined;
      if (!opener || !(await openIn(opener, url))) io.out(`${url}\n`);
      io.say(`${namespace}/${pod} is at ${origin} until Ctrl-C`);
      await aborted(signal);
      return EXIT.done;
    } finally {
      await forwarded.close();
    }
  });

const podsIn = async ({ client }: Cluster, namespace: string, signal: AbortSignal) => {
  try {
    const selection = { namespace, labelSelector: COORDINATORS, signal };
    return (await client.list(coordinatorPods, selection)).items;
  } catch (error) {
    throw orLacking(error, { verb: 'list', resource: 'pods', namespace });
  }
};

const tokenRequests = resourceV1(
  '',
  `serviceaccounts/${VIEWER}/token`,
  'TokenRequest',
  z.looseObject({ status: z.looseObject({ token: z.string() }) }),
);

const viewersToken = async (
  { client }: Cluster,
  namespace: string,
  signal: AbortSignal,
): Promise<string> => {
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { namespace },
    spec: { audiences: [DASHBOARD_AUDIENCE], expirationSeconds: TOKEN_SECONDS },
  };
  try {
    return (await client.create(tokenRequests, body, { signal })).status.token;
  } catch (error) {
    if (isNotFound(error))
      throw new CannotTellError(
        `namespace ${namespace} has no service account ${VIEWER}; the component deploy/dashboard has it`,
        { cause: error },
      );
    throw orLacking(error, { verb: 'create', resource: 'serviceaccounts/token', namespace });
  }
};

const codeSchema = z.object({ code: z.string(), user: z.string() });
const refusalSchema = z.object({ error: z.string() });

/** The token goes to the coordinator alone, over the connection that the API server has made. */
const codeFor = async (
  origin: string,
  token: string,
  signal: AbortSignal,
): Promise<z.infer<typeof codeSchema>> => {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(CODE_TIMEOUT_MS)]);
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${origin}/codes`, { method: 'POST', headers, signal: limit }).catch(
    (error: unknown) => {
      throw new CannotTellError(`the coordinator does not answer: ${messageOf(error)}`, {
        cause: error,
      });
    },
  );
  const body: unknown = await answer.json().catch(() => undefined);
  const made = codeSchema.safeParse(body);
  if (made.success) return made.data;
  const why = refusalSchema.safeParse(body).data?.error ?? `it answers ${answer.status}`;
  throw new CannotTellError(`the coordinator does not let you in: ${why}`);
};
