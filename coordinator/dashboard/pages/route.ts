/**
 * Which page a path is. Pages and what watches them for changes go through the same rights, since
 * they go through here.
 */
import { cnfPage } from './cnf.ts';
import { cnfsPage } from './cnfs.ts';
import { eventsPage } from './events.ts';
import { firewallPage } from './firewall.ts';
import type { CostlyPage, PageDeps } from './look.ts';
import type { Page, Viewer } from './page.ts';
import { rulePage } from './rule.ts';

/** Undefined: there is none, or the viewer has no right to see it. @throws KubeError */
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
  const [first = '', ...parts] = partsOf(url);
  const costly = COSTLY.get(first);
  if (!costly) return (await pageAt(deps, viewer, url))?.mark;
  const mark =
    parts.length === costly.parts
      ? await costly.page.mark(deps, viewer, { url, parts })
      : undefined;
  return mark && mark + remarksOf(deps);
};

const COSTLY: ReadonlyMap<string, { parts: number; page: CostlyPage }> = new Map([
  ['cnf', { parts: 2, page: cnfPage }],
  ['rule', { parts: 3, page: rulePage }],
  ['firewall', { parts: 2, page: firewallPage }],
]);

/** What the frame says above each page. */
const remarksOf = ({ overview }: PageDeps): string =>
  `${overview.isIncomplete() ? '-incomplete' : ''}${overview.isYoung() ? '-young' : ''}`;

const found = async (deps: PageDeps, viewer: Viewer, url: URL): Promise<Page | undefined> => {
  const [first = '', ...parts] = partsOf(url);
  if (first === '' && parts.length === 0) return cnfsPage(deps, viewer, url);
  if (first === 'events' && parts.length === 0) return eventsPage(deps, viewer, url);
  const costly = COSTLY.get(first);
  return costly?.parts === parts.length
    ? costly.page.page(deps, viewer, { url, parts })
    : undefined;
};

const partsOf = ({ pathname }: URL): string[] => {
  try {
    return pathname.slice(1).split('/').map(decodeURIComponent);
  } catch {
    return [];
  }
};
