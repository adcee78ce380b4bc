/** All CNFs that a viewer may see. */
import { few } from '#shared/util/few.ts';
import { CNFS, resourceOf } from '../resources.ts';
import { sumOf, type PodView, type Tally, type Overview } from '../overview.ts';
import type { Sight } from '../viewer/rights.ts';
import { seesKind, sightOf, type PageDeps } from './look.ts';
import {
  asked,
  cnfPath,
  html,
  link,
  note,
  pageOf,
  partLinks,
  partOf,
  row,
  shown,
  sign,
  scrollTable,
  time,
  type Html,
  type Page,
  type Viewer,
} from './page.ts';

export type CnfRow = {
  namespace: string;
  purpose: string;
  rules: Tally;
  /** Undefined: the viewer may not see them. */
  pods: readonly PodView[] | undefined;
};

const ROWS = 100;

/** Without those of which the viewer may see nothing. */
const visibleCnfs = (overview: Overview, sight: Sight): Omit<CnfRow, 'pods'>[] =>
  [...overview.tallies()]
    .flatMap(([namespace, cnfs]) =>
      [...cnfs].flatMap(([purpose, kinds]) => {
        const seen = [...kinds].flatMap(([kind, tally]) =>
          seesKind(sight, namespace, kind) ? [tally] : [],
        );
        const isSeen = seen.length > 0 || (purpose !== '' && sight.sees(namespace, CNFS));
        return isSeen ? [{ namespace, purpose, rules: sumOf(seen) }] : [];
      }),
    )
    .sort((a, b) => compare(a.namespace, b.namespace) || compare(a.purpose, b.purpose));

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

export const cnfsPage = async (deps: PageDeps, viewer: Viewer, url: URL): Promise<Page> => {
  const { overview } = deps;
  const namespace = asked(url, 'namespace');
  const search = asked(url, 'q');
  const questions = [...overview.tallies()]
    .filter(([name]) => namespace === '' || name === namespace)
    .flatMap(([name, cnfs]) => {
      const kinds = new Set([...cnfs.values()].flatMap((each) => [...each.keys()]));
      const listed = [...kinds].flatMap((kind) => resourceOf(kind) ?? []);
      return [CNFS, ...listed].map((one) => [name, one] as const);
    });
  const sight = await sightOf(deps, viewer, questions);
  const all = visibleCnfs(overview, sight);
  const found = all.filter((cnf) => nameOf(cnf).includes(search));
  const part = partOf(found, url.searchParams.get('page'), ROWS);
  const rows = part.items.map((cnf): CnfRow => ({
    ...cnf,
    pods: sight.sees(cnf.namespace, CNFS) ? overview.podsOf(cnf) : undefined,
  }));
  return pageOf('CNFs', {
    form: html`<form method="get" action="/" role="search">
      <label for="namespace">Namespace</label>
      <input id="namespace" name="namespace" value="${namespace}" maxlength="63" />
      <label for="q">Name</label>
      <input id="q" name="q" type="search" value="${search}" maxlength="256" />
      <button>Show</button>
    </form>`,
    body: html`${sight.isPartial ? note(PARTIAL) : ''}
    ${all.length === 0 ? nothing(overview, namespace) : cnfTable(rows)}
    ${all.length > 0 ? partLinks(part, url) : ''}`,
  });
};

const PARTIAL =
  'There are more namespaces than the API server is asked about for one page. Write the one that you want into the field above.';

const nameOf = ({ namespace, purpose }: Pick<CnfRow, 'namespace' | 'purpose'>): string =>
  `${namespace}/${purpose}`;

const cnfTable = (rows: readonly CnfRow[]): Html =>
  scrollTable(
    'CNFs',
    ['CNF', 'Namespace', 'State', 'Since', 'Rules in sync', 'Pods', 'Agents', 'Drift repaired'],
    rows.map((cnf) => {
      const { inSync, total, drifts, lastDrift, outSince, inSyncSince } = cnf.rules;
      const isOut = inSync < total;
      return row([
        link(cnfPath(cnf.namespace, cnf.purpose), cnf.purpose || 'rules without a CNF'),
        shown(cnf.namespace),
        stateOf(cnf),
        time(isOut ? outSince : inSyncSince),
        html`${inSync} of ${total}`,
        podsOf(cnf.pods),
        shown(few(imagesOf(cnf.pods ?? []), 2)) || '–',
        drifts === 0 ? '0' : html`${drifts}, last ${time(lastDrift)}`,
      ]);
    }),
  );

const stateOf = ({ rules: { inSync, total }, pods = [] }: CnfRow): Html => {
  if (pods.some(({ problem }) => problem !== ''))
    return sign('bad', inSync < total ? 'not in sync' : 'pods need a look');
  if (inSync < total) return sign('bad', 'not in sync');
  return total === 0 ? sign('none', 'no rules') : sign('good', 'in sync');
};

const podsOf = (pods: readonly PodView[] | undefined): Html => {
  if (pods === undefined) return html`not shown`;
  return html`${pods.filter(({ problem }) => problem === '').length} of ${pods.length}`;
};

const imagesOf = (pods: readonly PodView[]): string[] =>
  [...new Set(pods.flatMap(({ agentImage }) => agentImage || []))].sort();

const nothing = (overview: Overview, namespace: string): Html => {
  const where = namespace === '' ? '' : ' in that namespace';
  if (overview.isIncomplete()) return html`<p>No CNF is known yet${where}.</p>`;
  return html`<p>There is no CNF${where}, or none that you may see.</p>
    <h2>What to do first</h2>
    <ol>
      <li>
        Give the pod template of a Deployment with OpenWRT the label
        <code>sdewanPurpose: cnf-1</code>. Its pods then get an agent.
      </li>
      <li>
        Create a rule with the same label: <code>kubectl apply -f zone.yaml</code>. The docs have
        <q>First steps</q> with all files.
      </li>
      <li>
        If both are there, you lack the right to list them:
        <code>kubectl auth can-i list ${CNFS.resource}.${CNFS.group} -n NAMESPACE</code>.
        ClusterRole <code>sdewan-viewer</code> grants it.
      </li>
    </ol>`;
};
