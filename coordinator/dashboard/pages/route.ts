/** Which page a path is. Pages and what watches them for changes go through the same rights, since they go through here. */
import { cnfPage } from './cnf.ts';
import { cnfsPage } from './cnfs.ts';
import { eventsPage } from './events.ts';
import { firewallMark, firewallPage } from './firewall.ts';
import type { PageDeps } from './look.ts';
import type { Page, Viewer } from './page.ts';
import { ruleMark, rulePage } from './rule.ts';

/** Undefined: there is none, or the viewer may not see it. @throws KubeError when nobody can tell */
export const pageAt = async (
  deps: PageDeps,
  viewer: Viewer,
  url: URL,
): Promise<Page | undefined> => {
  const page = await found(deps, viewer, url);
  return page && { ...page, mark: page.mark + remarksOf(deps) };
};

/** The mark that the page would have now. */
export const markAt = async (
  deps: PageDeps,
  viewer: Viewer,
  url: URL,
): Promise<string | undefined> => {
  const [first, ...parts] = partsOf(url);
  const cheap = MARKS.get(first ?? '');
  if (!cheap) return (await pageAt(deps, viewer, url))?.mark;
  const mark =
    parts.length === cheap.parts ? await cheap.mark(deps, viewer, { url, parts }) : undefined;
  return mark && mark + remarksOf(deps);
};

type MarkOf = (
  deps: PageDeps,
  viewer: Viewer,
  at: { url: URL; parts: readonly string[] },
) => Promise<string | undefined>;

/** Of pages for which specs are read: who watches them does not make the coordinator read anew. */
const MARKS: ReadonlyMap<string, { parts: number; mark: MarkOf }> = new Map([
  ['rule', { parts: 3, mark: ruleMark }],
  ['firewall', { parts: 2, mark: firewallMark }],
]);

/** What the frame says above each page. */
const remarksOf = ({ overview }: PageDeps): string =>
  `${overview.isIncomplete() ? '-incomplete' : ''}${overview.isYoung() ? '-young' : ''}`;

const found = async (deps: PageDeps, viewer: Viewer, url: URL): Promise<Page | undefined> => {
  const [first, ...parts] = partsOf(url);
  if (first === '' && parts.length === 0) return cnfsPage(deps, viewer, url);
  if (first === 'events' && parts.length === 0) return eventsPage(deps, viewer, url);
  if (first === 'cnf' && parts.length === 2) return cnfPage(deps, viewer, { url, parts });
  if (first === 'firewall' && parts.length === 2) return firewallPage(deps, viewer, { url, parts });
  if (first === 'rule' && parts.length === 3) return rulePage(deps, viewer, { parts });
  return undefined;
};

const partsOf = ({ pathname }: URL): string[] => {
  try {
    return pathname.slice(1).split('/').map(decodeURIComponent);
  } catch {
    return [];
  }
};
