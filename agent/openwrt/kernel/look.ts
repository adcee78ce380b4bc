/** What looks at the parts of OpenWRT's kernel have in common. */
import type { Capabilities } from '#shared/resources/capabilities.ts';
import type { UciSection } from '#shared/uci/model.ts';
import type { UbusSession } from '../ubus/login/session.ts';

/** 5,000 rules take 0.11 s of the CNF's CPU (measured). */
export const THOROUGH_LOOK_MS = 60_000;

/** A package as it was read last. The same sections are the same array. */
export type Contents = (name: string) => readonly UciSection[];

export type Look = {
  session: UbusSession;
  capabilities: Pick<Capabilities, 'firewall' | 'ipsec'>;
  contents: Contents;
  signal: AbortSignal;
};

/**
 * The hash that the verb has printed, '' where there is nothing to look for, and its other lines;
 * undefined: the agent cannot look any more.
 */
export type Ask = (
  look: Look,
  verb: 'state' | 'dump' | 'mwan3',
) => Promise<{ hash: string; lines: readonly string[] } | undefined>;

/** The last result, for as long as its inputs are the same. */
export const sameAgain = <Given extends readonly unknown[], Result>(
  compute: (...given: Given) => Result,
): ((...given: Given) => Result) => {
  let last: { given: Given; result: Result } | undefined;
  return (...given) => {
    const isSame = last?.given.every((value, at) => value === given[at]) === true;
    last = last !== undefined && isSame ? last : { given, result: compute(...given) };
    return last.result;
  };
};
