/** What a page gets: the overview, and only through the rights of its viewer. */
import { resourceOf, type Listed } from '../resources.ts';
import type { Rights, Sight } from '../viewer/rights.ts';
import type { EventsSeen } from '../events.ts';
import type { Overview } from '../overview.ts';
import type { Explain } from '../explain.ts';
import type { FirewallOf } from '../firewall.ts';
import type { Viewer } from './page.ts';

export type PageDeps = {
  overview: Overview;
  rights: Rights;
  events: Pick<EventsSeen, 'latest' | 'problem'>;
  explain: Explain;
  firewall: FirewallOf;
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

export const seesKind = ({ sees }: Sight, namespace: string, kind: string): boolean => {
  const listed = resourceOf(kind);
  return listed !== undefined && sees(namespace, listed);
};
