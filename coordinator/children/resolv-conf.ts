/** What /etc/resolv.conf says beside its servers, which the resolver reads by itself. */
import { readFileSync } from 'node:fs';

export type ResolvConf = { search: readonly string[]; ndots: number };

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
