/**
 * One DNS question, as programs in pods ask it: with the search domains of /etc/resolv.conf, both
 * address families, and how long the answer holds. Tells a name that does not exist from a server
 * that does not answer.
 */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { Resolver } from 'node:dns/promises';

export type Answer = {
  /** Sorted, IPv4 before IPv6. */
  addresses: readonly string[];
  ttlSeconds: number;
  /** The family that nothing is known of, since the server did not answer for it. */
  unanswered?: Family;
};

export type Family = 4 | 6;

export type Lookup = (name: string, signal: AbortSignal) => Promise<Answer>;

export type LookupOptions = ResolvConf & {
  resolver: Pick<Resolver, 'resolve4' | 'resolve6'>;
};

/** What /etc/resolv.conf says beside its servers, which the resolver reads by itself. */
export type ResolvConf = {
  /** Domains to try, in order. */
  search: readonly string[];
  /** Names with fewer dots are tried with the domains first. */
  ndots: number;
};

/** Positive answers that there is no such name or record; all else is no answer. */
const NONE = new Set(['ENOTFOUND', 'ENODATA', 'NOTFOUND', 'NODATA']);

/** An address is its own, for ever. @throws Error when there is no address, or no answer */
export const createLookup =
  ({ resolver, search, ndots }: LookupOptions): Lookup =>
  async (name, signal) => {
    if (isIP(name) !== 0) return { addresses: [name], ttlSeconds: Infinity };
    for (const candidate of candidatesOf(name, search, ndots)) {
      signal.throwIfAborted();
      const answer = await ask(resolver, candidate, name);
      if (answer) return answer;
    }
    throw new Error(`${name} has no address in the DNS`);
  };

const candidatesOf = (name: string, search: readonly string[], ndots: number): string[] => {
  if (name.endsWith('.')) return [name.slice(0, -1)];
  const searched = search.map((domain) => `${name}.${domain}`);
  return name.split('.').length - 1 >= ndots ? [name, ...searched] : [...searched, name];
};

/** Undefined when the name does not exist or has no address. Families fail by themselves. */
const ask = async (
  resolver: LookupOptions['resolver'],
  candidate: string,
  name: string,
): Promise<Answer | undefined> => {
  const results = await Promise.allSettled([
    resolver.resolve4(candidate, { ttl: true }),
    resolver.resolve6(candidate, { ttl: true }),
  ]);
  const found = results.map((result) => (result.status === 'fulfilled' ? result.value : []));
  const [failed] = results.flatMap((result, at) =>
    result.status === 'fulfilled' || NONE.has(codeOf(result.reason))
      ? []
      : [{ cause: result.reason, family: FAMILIES[at] }],
  );
  if (found.flat().length > 0)
    return {
      // The order of answers means nothing: servers rotate them.
      addresses: found.flatMap((of) => [...new Set(of.map(({ address }) => address))].sort()),
      ttlSeconds: Math.min(...found.flat().map(({ ttl }) => ttl)),
      ...(failed && { unanswered: failed.family }),
    };
  if (!failed) return undefined;
  const { cause } = failed;
  throw new Error(`${name} cannot be resolved: ${codeOf(cause)}`, { cause });
};

const FAMILIES = [4, 6] as const;

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : 'the DNS does not answer';

/** The resolver's own defaults where the file says nothing, or is not there. */
export const readResolvConf = (path = '/etc/resolv.conf'): ResolvConf => {
  try {
    return parseResolvConf(readFileSync(path, 'utf8'));
  } catch {
    return parseResolvConf('');
  }
};

/** The last `search` or `domain` counts, as for libc. */
export const parseResolvConf = (text: string): ResolvConf => {
  let search: readonly string[] = [];
  let ndots = 1;
  for (const line of text.split('\n')) {
    const [key, ...values] = line.trim().split(/\s+/);
    if (key === 'search' || key === 'domain')
      search = values.filter((domain) => domain !== '.').map((domain) => domain.replace(/\.$/, ''));
    if (key !== 'options') continue;
    const option = values.find((value) => /^ndots:\d+$/.test(value));
    if (option !== undefined) ndots = Number(option.slice('ndots:'.length));
  }
  return { search, ndots };
};
