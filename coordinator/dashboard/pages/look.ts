/** What a page gets: the overview, and only through the rights of its viewer. */
import type { KindDefinition } from '#shared/resources/kind.ts';
import { CNFS, listedOf, PODS, resourceOf, ROLL_OUTS, SHARES, type Listed } from '../resources.ts';
import type { Rights, Sight } from '../viewer/rights.ts';
import type { EventsSeen } from '../events-seen.ts';
import type { Cnf, Overview, PodRow, RollOut, RuleRow } from '../overview.ts';
import type { Explain } from '../explain.ts';
import type { FirewallOf } from '../firewall-view.ts';
import type { SharesIn } from '../shares.ts';
import { markOf, type Page, type Viewer } from './page.ts';

export type PageDeps = {
  overview: Overview;
  rights: Rights;
  events: Pick<EventsSeen, 'latest' | 'problem'>;
  explain: Explain;
  firewall: FirewallOf;
  shares: SharesIn;
};

export const sightIn = (
  { rights }: Pick<PageDeps, 'rights'>,
  { user }: Viewer,
  namespace: string,
  asked: readonly Listed[],
): Promise<Sight> =>
  rights.of(
    user,
    asked.map((listed) => ({ namespace, listed })),
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

/** A CNF, as far as a viewer may see it. */
export type SeenCnf = Cnf & {
  /** Those of the kinds that the page shows. */
  rules: readonly RuleRow[];
  pods: readonly PodRow[];
  rollOuts: readonly RollOut[];
  /** What of these kinds the viewer may not list. */
  hidden: readonly string[];
  seesPods: boolean;
  seesNetworks: boolean;
  seesShares: boolean;
  mark: string;
};

/** Undefined: there is none, or the viewer may see nothing of it. */
export const seenCnf = async (
  deps: PageDeps,
  viewer: Viewer,
  cnf: Cnf,
  { kinds, also = [] }: { kinds: readonly KindDefinition[]; also?: readonly Listed[] },
): Promise<SeenCnf | undefined> => {
  const { overview } = deps;
  const resources = kinds.map(listedOf);
  // Asked whether or not it is there, so that the answer is the same.
  const asked = [CNFS, PODS, SHARES, ...also, ...resources];
  const sight = await sightIn(deps, viewer, cnf.namespace, asked);
  const sees = (listed: Listed): boolean => sight.sees(cnf.namespace, listed);
  const seen = new Set(kinds.filter((one) => sees(listedOf(one))).map(({ kind }) => kind));
  const rules = overview.rulesOf(cnf).filter(({ object }) => seen.has(object.kind));
  const pods = sees(CNFS) ? overview.podsOf(cnf) : [];
  if (rules.length === 0 && pods.length === 0) return undefined;
  const versions = rules.map(({ object: { metadata } }) => [
    metadata.uid,
    metadata.resourceVersion,
  ]);
  const beside = {
    pods,
    rollOuts: sees(ROLL_OUTS) ? overview.rollOutsOf(cnf) : [],
    hidden: resources.filter((one) => !sees(one)).map(({ resource }) => resource),
    seesPods: sees(CNFS),
    seesNetworks: sees(PODS),
    seesShares: sees(PODS) && sees(SHARES),
  };
  return { ...cnf, rules, ...beside, mark: markOf(JSON.stringify([versions, beside])) };
};
