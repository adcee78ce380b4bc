/**
 * What each message of fw4 about a section means for it. All of fw4.uc are here, by what fw4 does
 * after it has said so (firewall4 b6e5157, 2026): most leave the section out; some report a value
 * that fw4 has worked out by itself. One that is in none of the lists is of another fw4, and taken
 * for a failure.
 */

export type Effect =
  /** The section is in force as it is written. */
  | 'none'
  /** It is in force, and not as it is written; or it is not in force. */
  | 'failure'
  /** It is in force without an option, and so for more packets than it says. */
  | 'wider';

/**
 * A section that says `enabled 0` is left out because it asks for it; a redirect works whether or
 * not its reflection does.
 */
const HARMLESS: readonly RegExp[] = [
  /^is disabled, ignoring section$/,
  /^option '.+' is deprecated by fw4$/,
  /^does not specify a destination, assuming '.+'$/,
  /, disabling reflection$/,
  /^is restricted to IPv[46] but referenced reflection zone is IPv[46] only, skipping$/,
  /^specifies 'chain' which has no effect for position \S+$/,
];

/** Which it goes on without. */
const OPTION_LEFT_OUT =
  /^(?:option '(.+)' is not supported by fw4|specifies unknown option '(.+)')$/;

/** Options that decide on no packet: what they are about is shown, counted or kept otherwise. */
const DECIDE_NOTHING: ReadonlySet<string> = new Set([
  'name',
  '_name',
  'comment',
  'counter',
  'counters',
  'log',
  'log_limit',
  'custom_chains',
  'reload',
  'storage',
  'hashsize',
]);

export const effectOf = (message: string): Effect => {
  if (HARMLESS.some((harmless) => harmless.test(message))) return 'none';
  const [, unsupported, unknown] = OPTION_LEFT_OUT.exec(message) ?? [];
  const option = unsupported ?? unknown;
  if (option === undefined) return 'failure';
  return DECIDE_NOTHING.has(option) ? 'none' : 'wider';
};

/** Without the networks that ubus tells of, zones have no devices, and no rule of one matches. */
export const BLIND = /^Unable to connect to ubus: .*$/m;
