/**
 * Who a bearer token belongs to, as the API server says. Answers are kept: a token for some minutes
 * at most and never beyond its own end, a refusal for some seconds, so that neither heartbeats nor
 * attackers become load on the API server.
 */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { resourceV1 } from '#shared/kube/objects.ts';
import { REPORT_AUDIENCE } from '#shared/names.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Rate } from '#shared/runtime/rate.ts';
import { Recent } from '#shared/util/recent.ts';
import { claimsIn } from '#shared/util/json.ts';
import { Refusal, type RefusalCode } from './refusal-codes.ts';
import type { TokenClaims } from './token-claims.ts';

export type TokenReviewer = {
  /** `podUid`: of the pod that the token names, which anybody may have written. @throws Refusal */
  review: (token: string, podUid: string) => Promise<TokenClaims>;
};

export type TokenReviewerOptions = {
  client: Pick<KubeClient, 'create'>;
  clock: Clock;
  /** Tokens that name a pod, and are not known: a client that reads pods can write any number. */
  rate: Pick<Rate, 'take'>;
  onReview?: (result: 'accepted' | RefusalCode) => void;
};

/** A pod that is gone is found by its uid, at once; this bounds trust in a deleted account. */
const ACCEPTED_FOR_MS = 300_000;
const REFUSED_FOR_MS = 10_000;
/** Tokens remembered, accepted and refused each; the oldest are forgotten first. */
const MAX_REMEMBERED = 5_000;

const USERNAME = /^system:serviceaccount:([^:]+):[^:]+$/;
const POD_NAME_CLAIM = 'authentication.kubernetes.io/pod-name';
const POD_UID_CLAIM = 'authentication.kubernetes.io/pod-uid';

const answerSchema = z.object({
  status: z.object({
    authenticated: z.boolean().default(false),
    audiences: z.array(z.string()).default([]),
    user: z
      .object({
        username: z.string().default(''),
        extra: z.record(z.string(), z.array(z.string())).default({}),
      })
      .prefault({}),
  }),
});
type Answer = z.infer<typeof answerSchema>;

const tokenReviews = resourceV1(
  'authentication.k8s.io',
  'tokenreviews',
  'TokenReview',
  answerSchema,
);

type Verdict = TokenClaims | RefusalCode;

export const createTokenReviewer = (options: TokenReviewerOptions): TokenReviewer => {
  const { client, clock, onReview, rate } = options;
  const accepted = new Remembered<Verdict>(clock);
  const refused = new Remembered<Verdict>(clock);
  const asking = new Map<string, Promise<Verdict>>();
  /**
   * Tokens that were accepted once: asked again about when that is over, however many others name
   * the same pod meanwhile.
   */
  const proven = new Recent<true>({ most: MAX_REMEMBERED });

  const ask = async (token: string, key: string): Promise<Verdict> => {
    const verdict = await askApiServer(client, token);
    onReview?.(typeof verdict === 'string' ? verdict : 'accepted');
    if (typeof verdict === 'string') {
      refused.put(key, verdict, REFUSED_FOR_MS);
      proven.delete(key);
      return verdict;
    }
    proven.set(key, true);
    accepted.put(key, verdict, Math.min(ACCEPTED_FOR_MS, lifetimeOf(token, clock.now())));
    return verdict;
  };

  return {
    review: async (token, podUid) => {
      // Not the token itself: nothing of it should be found in a heap dump.
      const key = createHash('sha256').update(token).digest('base64');
      let verdict = accepted.get(key) ?? refused.get(key);
      if (verdict === undefined) {
        const isNew = !asking.has(key) && !proven.get(key);
        if (isNew && !rate.take(podUid)) throw new Refusal('unavailable');
        const question = asking.get(key) ?? ask(token, key).finally(() => asking.delete(key));
        asking.set(key, question);
        verdict = await question;
      }
      if (typeof verdict === 'string') throw new Refusal(verdict);
      return verdict;
    },
  };
};

const askApiServer = async (
  client: Pick<KubeClient, 'create'>,
  token: string,
): Promise<Verdict> => {
  try {
    const review = await client.create(tokenReviews, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      // Without audiences the API server would accept its own tokens, which every pod has.
      spec: { token, audiences: [REPORT_AUDIENCE] },
    });
    return verdictOf(review);
  } catch (cause) {
    throw new Refusal('unavailable', { cause });
  }
};

const verdictOf = ({ status: { authenticated, audiences, user } }: Answer): Verdict => {
  if (!authenticated || !audiences.includes(REPORT_AUDIENCE)) return 'bad-token';
  const namespace = USERNAME.exec(user.username)?.[1];
  const pod = user.extra[POD_NAME_CLAIM]?.[0];
  const podUid = user.extra[POD_UID_CLAIM]?.[0];
  return namespace && pod && podUid ? { namespace, pod, podUid } : 'unbound-token';
};

/** Milliseconds until the token ends by its own claims, which the API server has verified. */
const lifetimeOf = (token: string, nowMs: number): number => {
  const { data } = z.object({ exp: z.number() }).safeParse(claimsIn(token));
  // A token that we cannot read is asked about each time.
  return data ? Math.max(0, data.exp * 1_000 - nowMs) : 0;
};

/** A map whose entries end by themselves and that never outgrows its limit. */
class Remembered<V> {
  readonly #clock: Clock;
  readonly #entries = new Recent<{ value: V; until: number }>({
    most: MAX_REMEMBERED,
    isOver: ({ until }) => until <= this.#clock.monotonic(),
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (this.#clock.monotonic() < entry.until) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  put(key: string, value: V, forMs: number): void {
    this.#entries.set(key, { value, until: this.#clock.monotonic() + forMs });
  }
}
