/**
 * Watches nothing, but looks at the certificate Secret again and again; owns it, and CAs and paths
 * in the webhook configurations; writes both, one step of the plan at a time. The Secret is the one
 * truth, and whatever is served was read back from it: a replica that does not lead reads it, and
 * writes nothing.
 */
import { createController, type Controller, type ControllerDeps } from '#shared/kube/controller.ts';
import { carryOut } from './steps.ts';
import { bundleOf, type Material } from './material.ts';
import { nextStep, type CertificatePolicy } from './decide.ts';
import type { SecretStore } from './secret-store.ts';
import { createServed } from './served.ts';
import { inspect, type Pair } from './x509.ts';

export type CertificatesDeps = ControllerDeps & {
  store: SecretStore;
  policy: CertificatePolicy;
  /**
   * Writes into the webhook configurations which CAs to trust and which paths to call. The plan
   * goes on only after it resolved; false: there is nothing to write, as before `kubectl apply` has
   * come to the webhook configurations, which it creates last.
   */
  publish: (published: Published, signal: AbortSignal) => Promise<boolean>;
  /** How often the Secret is looked at for what cert-manager or the leader has written. */
  pollMs: number;
};

/** `bundle`: PEM. `token`: what paths of webhooks end in. */
export type Published = { bundle: string; token: string };

export type Certificates = {
  /**
   * Takes the first steps, or waits for those of another replica, until there is something to
   * serve. @throws when the API server refuses or the signal aborts
   */
  prepare: (signal: AbortSignal) => Promise<void>;
  /** @throws before `prepare` */
  serving: () => Pair;
  /** PEM of all CAs that clients have to trust. @throws before `prepare` */
  bundle: () => string;
  onServing: (listener: (pair: Pair) => void) => void;
  onBundle: (listener: (bundle: string) => void) => void;
  /** Whether a path of a webhook that ends in it was written to the API server by us. */
  isGoodToken: (token: string) => boolean;
  /** When the served certificate ends, milliseconds since 1970: for the metric to alert on. */
  expiresAt: () => number;
  run: (signal: AbortSignal) => Promise<void>;
};

/** More in one go would mean that the plan does not settle. */
const MAX_STEPS = 8;
/** Between looks for the first certificate. */
const AWAITED_AGAIN_MS = 200;
/**
 * An API server that has just been given our rights may refuse at first; a coordinator that is
 * ready is one that it can call.
 */
const PUBLISH_TRIES = 25;
const PUBLISH_AGAIN_MS = 1_000;
/** `kubectl apply` creates webhook configurations last, and may do so long after our start. */
const APPLY_LOOKS = 60;
/** The only key: there is one Secret. */
const SECRET = 'certificates';

export const createCertificates = (deps: CertificatesDeps): Certificates => {
  const { store, policy, leadership, clock, log } = deps;
  const served = createServed(deps);
  const { isKnown, known } = served;
  let isUnpublished = false;
  let looksForNothing = 0;
  const untilNextLook = (): number =>
    looksForNothing > 0 && looksForNothing <= APPLY_LOOKS
      ? Math.min(PUBLISH_AGAIN_MS, deps.pollMs)
      : deps.pollMs;

  /** One look and at most one write. Returns the milliseconds to wait, 0 after a write. */
  const advance = async (signal: AbortSignal): Promise<number> => {
    const stored = await store.read(signal);
    const { material, provided } = stored;
    if (provided && material === undefined)
      throw new Error(
        'the certificate Secret contains a tls.crt that no CA in its ca.crt has signed',
      );
    if (material !== undefined) served.adopt(material, provided);
    if (leadership.term() === undefined) return deps.pollMs;
    // Serving must not wait for it without limit, but no CA may be used before it was published.
    const outcome = material && (await published(material, signal));
    isUnpublished = outcome === 'failed';
    looksForNothing = outcome === 'absent' ? looksForNothing + 1 : 0;
    if (outcome === 'failed') return Math.min(PUBLISH_AGAIN_MS, deps.pollMs);
    if (provided) return untilNextLook();
    const now = clock.now();
    const plan = nextStep(material, policy, now);
    if (plan.step === 'wait') return Math.min(plan.until - now, untilNextLook());
    const wrote = await store.write(
      await carryOut(plan.step, material, policy, now),
      stored,
      signal,
    );
    if (wrote) log.info({ step: plan.step }, 'certificate Secret updated');
    return 0;
  };

  const published = async (
    material: Material,
    signal: AbortSignal,
  ): Promise<'done' | 'absent' | 'failed'> => {
    try {
      const token = served.tokenInUse();
      // Without one the next step of the plan makes it.
      const isDone =
        token === undefined || (await deps.publish({ bundle: bundleOf(material), token }, signal));
      return isDone ? 'done' : 'absent';
    } catch (err) {
      signal.throwIfAborted();
      log.error({ err }, 'failed to publish the CA and the paths of the webhooks');
      return 'failed';
    }
  };

  const settle = async (signal: AbortSignal): Promise<number> => {
    for (let step = 0; step < MAX_STEPS; step += 1) {
      const waitMs = await advance(signal);
      if (waitMs > 0) return waitMs;
    }
    throw new Error(`the certificates are still incomplete after ${MAX_STEPS} steps`);
  };

  const controller: Controller = createController({
    ...deps,
    name: 'certificates',
    facts: () => store,
    markAll: () => controller.mark(SECRET),
    reconcile: async (_key, _store, signal) => ({ againInMs: await settle(signal) }),
    fieldsOf: () => ({}),
    coalesceMs: 0,
  });

  const follow = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await clock.sleep(deps.pollMs, signal).catch(() => undefined);
      if (signal.aborted || leadership.term() !== undefined) continue;
      await settle(signal).catch((err: unknown) => {
        if (!signal.aborted) log.warn({ err }, 'failed to read the certificate Secret');
      });
    }
  };

  return {
    prepare: async (signal) => {
      await settle(signal);
      const isPublished = (): boolean => isKnown() && !isUnpublished;
      for (let tries = 0; !isPublished() && !(isKnown() && tries >= PUBLISH_TRIES); tries += 1) {
        await clock.sleep(AWAITED_AGAIN_MS, signal);
        await settle(signal);
      }
    },
    serving: () => known().serving,
    bundle: () => bundleOf(known()),
    onServing: served.onServing,
    onBundle: served.onBundle,
    isGoodToken: served.isGoodToken,
    expiresAt: () => inspect(known().serving.cert).expiresAt,
    run: async (signal) => {
      await Promise.all([controller.run(signal), follow(signal)]);
    },
  };
};
