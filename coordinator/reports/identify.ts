/**
 * From a bearer token to a live CNF pod and the purpose that it serves: the only way in which a
 * report is accepted. The pod has to exist now under the uid in the token, and its purpose is what
 * its agent was given literally, since labels can change. The API server is asked only about a
 * token that names such a pod; only a client with the right to read pods can write such a token,
 * and not many of each pod count.
 */
import { isDeepStrictEqual } from 'node:util';
import { isNotFound } from '#shared/kube/errors.ts';
import { withDeadline } from '#shared/runtime/deadline.ts';
import type { Rate } from '#shared/runtime/rate.ts';
import type { CnfPods } from '../sources/cnf-pods.ts';
import type { CnfPod } from '../sources/cnf-pod.ts';
import { Refusal } from './refusal-codes.ts';
import { claimedBy, type TokenClaims } from './token-claims.ts';
import type { TokenReviewer } from './token-reviewer.ts';

export type Reporter = { pod: CnfPod; purpose: string };

export type IdentifyDeps = {
  reviewer: TokenReviewer;
  pods: Pick<CnfPods, 'byName' | 'lookAt'>;
  /** Looks for pods that the watch has not shown: any client can make us ask. */
  looks: Pick<Rate, 'take'>;
};

const BEARER = /^Bearer +(\S+)$/i;
const LOOK_TIMEOUT_MS = 10_000;

/** `request`: a look at a pod ends with it. @throws Refusal */
export const identify = async (
  { reviewer, ...deps }: IdentifyDeps,
  authorization: string | undefined,
  path: { namespace: string; pod: string },
  request: Pick<Request, 'signal'>,
): Promise<Reporter> => {
  const token = BEARER.exec(authorization ?? '')?.[1];
  if (!token) throw new Refusal('no-token');
  const claimed = claimedBy(token);
  if (claimed.namespace !== path.namespace) throw new Refusal('other-namespace');
  if (claimed.pod !== path.pod) throw new Refusal('other-pod');
  const pod = await livePod(deps, claimed, request);
  const proven = await reviewer.review(token, claimed.podUid);
  if (!isDeepStrictEqual(proven, claimed)) throw new Refusal('bad-token');
  const { serves } = pod;
  if (serves === undefined) throw new Refusal('no-agent');
  if (!noAgentRuns(pod)) return { pod, purpose: serves };
  // The watch may be behind. A pod that was authenticated uses up only the lookups of its
  // namespace.
  if (!deps.looks.take(proven.namespace)) throw new Refusal('unavailable');
  const present = await presentPod(deps.pods, proven, request);
  if (noAgentRuns(present)) throw new Refusal('not-started');
  return { pod: present, purpose: serves };
};

const livePod = async (
  { pods, looks }: Pick<IdentifyDeps, 'pods' | 'looks'>,
  claims: TokenClaims,
  request: Pick<Request, 'signal'>,
): Promise<CnfPod> => {
  const known = pods.byName(claims.namespace, claims.pod);
  if (known?.uid === claims.podUid) return known;
  // A pod can report before the watch shows it.
  if (!looks.take()) throw new Refusal('unavailable');
  return presentPod(pods, claims, request);
};

/** The kubelet reports a start some seconds late, but never runs what no scheduler has given it. */
const noAgentRuns = ({ agent }: CnfPod): boolean =>
  agent.state === 'never-started' && !agent.scheduled;

/** From the API server. */
const presentPod = async (
  pods: IdentifyDeps['pods'],
  { namespace, pod, podUid }: TokenClaims,
  request: Pick<Request, 'signal'>,
): Promise<CnfPod> => {
  try {
    // Made only here: a signal and a timer for each report cost as much as to parse it.
    const found = await withDeadline(
      { timeoutMs: LOOK_TIMEOUT_MS, signal: request.signal },
      (signal) => pods.lookAt(namespace, pod, signal),
    );
    if (found.uid === podUid) return found;
  } catch (cause) {
    if (!isNotFound(cause)) throw new Refusal('unavailable', { cause });
  }
  throw new Refusal('pod-gone');
};
