/**
 * Tokens of Keystone v3: asked for when they are needed, renewed before they end, and asked for
 * once however many wait for one.
 */
import * as z from 'zod';
import type { Clock } from '#shared/runtime/clock.ts';
import { parseUntrusted } from '#shared/util/untrusted.ts';
import type { Cloud, CloudAuth } from './cloud.ts';
import { NeutronError } from './errors.ts';
import type { Send } from './send.ts';

export type Token = {
  token: string;
  projectId: string;
  /** The URL of the network API, without a slash at its end. */
  networkUrl: string;
  /** Monotonic milliseconds: from then on another one is asked for. */
  renewAt: number;
  ca: string | undefined;
};

const tokenSchema = z.object({
  token: z.object({
    expires_at: z.string(),
    project: z.object({ id: z.string() }),
    catalog: z.array(
      z.object({
        type: z.string(),
        endpoints: z.array(
          z.object({
            interface: z.string(),
            region_id: z.string().nullish(),
            url: z.url({ protocol: /^https?$/ }),
          }),
        ),
      }),
    ),
  }),
});

export type TokensOptions = {
  /** As it is now. */
  cloud: () => Promise<{ cloud: Cloud; ca: string | undefined }>;
  send: Send;
  clock: Pick<Clock, 'now' | 'monotonic'>;
};

export type Tokens = {
  /** @throws NeutronError */
  current: () => Promise<Token>;
  /** The network API does not take it any more. */
  refused: (token: Token) => void;
};

/** What is left of its life when another one is asked for; half of a short life. */
const RENEW_MS = 60_000;

export const createTokens = ({ cloud, send, clock }: TokensOptions): Tokens => {
  let held: Token | undefined;
  let asking: Promise<Token> | undefined;

  const ask = async (): Promise<Token> => {
    const { cloud: of, ca } = await cloud();
    const url = new URL(
      `${of.auth.auth_url.replace(/\/+$/, '').replace(/\/v3$/, '')}/v3/auth/tokens`,
    );
    const attempted = `POST ${url.pathname}`;
    const { body, headers } = await send({ method: 'POST', url, body: requestFor(of.auth), ca });
    const parsed = parseUntrusted(tokenSchema, body);
    const token = headers['x-subject-token'];
    if (!parsed.success || typeof token !== 'string')
      throw new NeutronError(attempted, 'the answer is no token of a project', {
        status: 0,
        type: 'Malformed',
      });
    const { catalog, expires_at: expiresAt, project } = parsed.data.token;
    const endpoint = catalog
      .filter(({ type }) => type === 'network')
      .flatMap(({ endpoints }) => endpoints)
      .find(
        (one) =>
          one.interface === of.interface &&
          (of.region_name === undefined || one.region_id === of.region_name),
      );
    if (endpoint === undefined)
      throw new NeutronError(
        attempted,
        `the catalog has no ${of.interface} network endpoint${of.region_name ? ` of region ${of.region_name}` : ''}`,
        { status: 0, type: 'Malformed' },
      );
    const lifeMs = Math.max(0, Date.parse(expiresAt) - clock.now());
    return {
      token,
      projectId: project.id,
      networkUrl: endpoint.url.replace(/\/+$/, '').replace(/\/v2\.0$/, ''),
      renewAt: clock.monotonic() + lifeMs - Math.min(RENEW_MS, lifeMs / 2),
      ca,
    };
  };

  return {
    current: async () => {
      if (held && clock.monotonic() < held.renewAt) return held;
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      held = await asking;
      return held;
    },
    refused: (token) => {
      if (held === token) held = undefined;
    },
  };
};

/** The body of the request, by what the cloud's entry has. */
const requestFor = (auth: CloudAuth): object => {
  if (auth.application_credential_id !== undefined)
    return {
      auth: {
        identity: {
          methods: ['application_credential'],
          application_credential: {
            id: auth.application_credential_id,
            secret: auth.application_credential_secret,
          },
        },
      },
    };
  const user =
    auth.user_id === undefined
      ? { name: auth.username, domain: domainOf(auth.user_domain_id, auth.user_domain_name) }
      : { id: auth.user_id };
  const project =
    auth.project_id === undefined
      ? {
          name: auth.project_name,
          domain: domainOf(auth.project_domain_id, auth.project_domain_name),
        }
      : { id: auth.project_id };
  return {
    auth: {
      identity: { methods: ['password'], password: { user: { ...user, password: auth.password } } },
      scope: { project },
    },
  };
};

const domainOf = (id: string | undefined, name: string | undefined): object =>
  id === undefined ? { name: name ?? 'Default' } : { id };
