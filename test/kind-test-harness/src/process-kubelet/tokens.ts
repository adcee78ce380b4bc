/**
 * Service-account tokens of one pod: made by the API server, bound to the pod, and renewed before
 * they end.
 */
import type { KubeClient } from '../kube/client.ts';
import type { Pod } from '../kube/objects.ts';

/** Kubelets renew at 80 % of the lifetime, and after a day at the latest. */
const RENEW_AT = 0.8;
const RENEW_AT_LATEST_MS = 24 * 3_600_000;
const DEFAULT_EXPIRATION_SECONDS = 3600;

export type TokenRequest = { audience?: string; expirationSeconds?: number };

export type PodTokens = {
  /** The current token for a request; a fresh one when it is time. */
  get: (request: TokenRequest) => Promise<string>;
  /**
   * When the next of the tokens got so far wants renewal, in ms since the epoch; absent when there
   * is none.
   */
  renewAt: () => number | undefined;
};

export type TokenDeps = {
  client: KubeClient;
  now: () => number;
  /** For tests: renew after this time instead of 80 % of the lifetime. */
  renewAfterMs?: number | undefined;
};

type Held = { token: string; renewAt: number };

export const createPodTokens = (pod: Pod, deps: TokenDeps): PodTokens => {
  const held = new Map<string, Held>();
  const { namespace, name, uid } = pod.metadata;
  const account = pod.spec.serviceAccountName ?? 'default';

  const fetchToken = async (request: TokenRequest): Promise<Held> => {
    const requestedAt = deps.now();
    const answer = await deps.client.create<TokenAnswer>(
      `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: {
          ...(request.audience !== undefined && { audiences: [request.audience] }),
          expirationSeconds: request.expirationSeconds ?? DEFAULT_EXPIRATION_SECONDS,
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
        },
      },
    );
    const { token, expirationTimestamp } = answer.status;
    const lifetimeMs = Date.parse(expirationTimestamp) - requestedAt;
    return { token, renewAt: requestedAt + (deps.renewAfterMs ?? renewalDelayMs(lifetimeMs)) };
  };

  return {
    get: async (request) => {
      const key = JSON.stringify([request.audience, request.expirationSeconds]);
      const found = held.get(key);
      if (found && deps.now() < found.renewAt) return found.token;
      const fresh = await fetchToken(request);
      held.set(key, fresh);
      return fresh.token;
    },
    renewAt: () => {
      const times = [...held.values()].map(({ renewAt }) => renewAt);
      return times.length > 0 ? Math.min(...times) : undefined;
    },
  };
};

/** How long after its making a token of this lifetime is renewed. */
export const renewalDelayMs = (lifetimeMs: number): number =>
  Math.min(lifetimeMs * RENEW_AT, RENEW_AT_LATEST_MS);

type TokenAnswer = { status: { token: string; expirationTimestamp: string } };
