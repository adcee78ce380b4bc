/** The state of a watch, for reports, readiness and people. */
import { messageOf } from '../../runtime/errors.ts';
import { isForbidden, isNotFound } from '../errors.ts';

export type WatchPhase =
  /** The first list, or the first watch, is still under way. */
  | 'Syncing'
  /** Listed, and the watch is open. */
  | 'Synced'
  /** 403: what is known stays, and nothing new is received. */
  | 'Forbidden'
  /** 404: the server does not know the kind (its CRD is not there). */
  | 'NotServed'
  /** Open, but nothing came for longer than the server's bookmarks allow. */
  | 'Silent'
  /** Anything else; the message says what. */
  | 'Failing';

export type WatchState = {
  phase: WatchPhase;
  /** Why it is not Synced, '' when it is. */
  message: string;
  /** A complete list has been taken once, so the store is what the server had then or later. */
  listed: boolean;
};

/** The server has said what there is, or that it does not know the kind. */
export const isAnswered = ({ listed, phase }: WatchState): boolean =>
  listed || phase === 'NotServed';

/** The watch was open but silent. */
export class WatchSilence extends Error {
  override name = 'WatchSilence';
}

export const phaseOf = (error: unknown): WatchPhase => {
  if (isForbidden(error)) return 'Forbidden';
  if (isNotFound(error)) return 'NotServed';
  return error instanceof WatchSilence ? 'Silent' : 'Failing';
};

export const failedState = (error: unknown, listed: boolean): WatchState => ({
  phase: phaseOf(error),
  message: messageOf(error),
  listed,
});
