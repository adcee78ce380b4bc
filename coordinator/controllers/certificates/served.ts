/**
 * What is served: the last material that was read, and the paths of webhooks that go with it.
 * Listeners hear when either part of it is another.
 */
import type { Clock } from '#shared/runtime/clock.ts';
import { bundleOf, type Material } from './material.ts';
import {
  isGoodToken,
  tokenInUse,
  tokenOfKey,
  withNewToken,
  type PathToken,
} from './path-tokens.ts';
import type { Pair } from './x509.ts';

/** Replicas look once in `pollMs`; after so many looks each has read it, though one failed. */
const LOOKS = 3;

export const createServed = ({ clock, pollMs }: { clock: Pick<Clock, 'now'>; pollMs: number }) => {
  const servingListeners: ((pair: Pair) => void)[] = [];
  const bundleListeners: ((bundle: string) => void)[] = [];
  let current: Material | undefined;
  let tokens: readonly PathToken[] = [];
  const spreadMs = LOOKS * pollMs;

  const adopt = (material: Material, provided: boolean): void => {
    const before = current;
    current = material;
    tokens = provided
      ? withNewToken(tokens, clock.now(), tokenOfKey(material.serving.key))
      : material.tokens;
    if (before?.serving.cert !== material.serving.cert)
      for (const listener of servingListeners) listener(material.serving);
    if (before === undefined || bundleOf(before) !== bundleOf(material))
      for (const listener of bundleListeners) listener(bundleOf(material));
  };

  const isKnown = (): boolean => current !== undefined;
  const known = (): Material => {
    if (current === undefined) throw new Error('no certificate has been prepared');
    return current;
  };

  return {
    adopt,
    isKnown,
    known,
    tokenInUse: () => tokenInUse(tokens, clock.now(), spreadMs),
    isGoodToken: (token: string) => isGoodToken(tokens, token, clock.now(), spreadMs),
    onServing: (listener: (pair: Pair) => void) => servingListeners.push(listener),
    onBundle: (listener: (bundle: string) => void) => bundleListeners.push(listener),
  };
};
