/** What a page gets: the overview, and only through the rights of its viewer. */
import { resourceOf, type Listed } from '../resources.ts';
import type { Rights, Sight } from '../viewer/rights.ts';
import type { EventsSeen } from '../events-seen.ts';
import type { Overview } from '../overview.ts';
import type { Explain } from '../explain.ts';
import type { FirewallOf } from '../firewall-view.ts';
import type { SharesIn } from '../shares.ts';
import type { Page, Viewer } from './page.ts';

export type PageDeps = {
  overview: Overview;
  rights: Rights;
  events: Pick<EventsSeen, 'latest' | 'problem'>;
  explain: Explain;
  firewall: FirewallOf;
  shares: SharesIn;
};

export const sightOf = (
  { rights }: Pick<PageDeps, 'rights'>,
  { user }: Viewer,
  asked: readonly (readonly [namespace: string, listed: Listed])[],
): Promise<Sight> =>
  rights.of(
    user,
    asked.map(([namespace, listed]) => ({ namespace, listed })),
  );

/** Where a page is. */
export type At = { url: URL; parts: readonly string[] };

/**
 * A page for which specs are read, and its mark, which asks the API server for nothing but rights:
 * who watches it does not make the coordinator read anew.
 */
export type CostlyPage = {
  page: (deps: PageDeps, viewer: Viewer, at: At) => Promise<Page | undefined>;
  mark: (deps: PageDeps, viewer: Viewer, at: At) => Promise<string | undefined>;
};

/** @param seen undefined: there is none, or the viewer may not see it */
export const costlyPage = <Seen extends { mark: string }>(
  seen: (deps: PageDeps, viewer: Viewer, at: At) => Promise<Seen | undefined>,
  show: (deps: PageDeps, found: Seen, at: At) => Promise<Omit<Page, 'mark'> | undefined>,
): CostlyPage => ({
  mark: async (deps, viewer, at) => (await seen(deps, viewer, at))?.mark,
  page: async (deps, viewer, at) => {
    const found = await seen(deps, viewer, at);
    const shown = found && (await show(deps, found, at));
    return shown && { ...shown, mark: found.mark };
  },
});

export const seesKind = ({ sees }: Sight, namespace: string, kind: string): boolean => {
  const listed = resourceOf(kind);
  return listed !== undefined && sees(namespace, listed);
};
