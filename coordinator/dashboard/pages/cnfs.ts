/** All CNFs that a viewer may see. */
import { few } from '#shared/util/few.ts';
import { CNFS, resourceOf, ROLL_OUTS } from '../resources.ts';
import {
  sumOf,
  type Cnf,
  type Overview,
  type PodRow,
  type RollOut,
  type Tally,
} from '../overview.ts';
import type { Sight } from '../viewer/rights.ts';
import { seesKind, type PageDeps } from './look.ts';
import { whatIsWrong } from './problems.ts';
import {
  asked,
  cnfPath,
  html,
  link,
  namespaceField,
  note,
  pageOf,
  partLinks,
  partOf,
  shown,
  sign,
  table,
  time,
  type Html,
  type Page,
  type Viewer,
} from './page.ts';

type VisibleCnf = Cnf & { rules: Tally };
/** `pods`: undefined where the viewer may not see them. */
type CnfRow = VisibleCnf & { pods: readonly PodRow[] | undefined; rollOuts: readonly RollOut[] };

const ROWS = 100;

/** Without those of which the viewer may see nothing. */
const visibleCnfs = (overview: Overview, sight: Sight): VisibleCnf[] =>
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
  // That one first: of too many they are not all asked.
  const questions = [...overview.tallies()]
    .toSorted(([a], [b]) => Number(b === namespace) - Number(a === namespace))
    .flatMap(([name, cnfs]) => {
      const kinds = new Set([...cnfs.values()].flatMap((each) => [...each.keys()]));
      const listed = [...kinds].flatMap((kind) => resourceOf(kind) ?? []);
      return [CNFS, ROLL_OUTS, ...listed].map((one) => ({ namespace: name, listed: one }));
    });
  const sight = await deps.rights.of(viewer.user, questions);
  const everywhere = visibleCnfs(overview, sight);
  const names = [...new Set(everywhere.map((cnf) => cnf.namespace))];
  const isAsked = (one: { namespace: string }): boolean =>
    namespace === '' || one.namespace === namespace;
  const all = everywhere.filter(isAsked);
  const rows = all.map((cnf): CnfRow => ({
    ...cnf,
    pods: sight.sees(cnf.namespace, CNFS) ? overview.podsOf(cnf) : undefined,
    rollOuts: sight.sees(cnf.namespace, ROLL_OUTS) ? overview.rollOutsOf(cnf) : [],
  }));
  const found = rows.filter((cnf) => nameOf(cnf).includes(search));
  const part = partOf(found, url.searchParams.get('page'), ROWS);
  const out = overview.out((rule) => isAsked(rule) && seesKind(sight, rule.namespace, rule.kind));
  return pageOf(
    'CNFs',
    html`${sight.isPartial ? note(PARTIAL) : ''}
      ${all.length === 0 ? nothing(overview, namespace) : whatIsWrong([...out], rows)}
      <form id="filter" method="get" action="/#filter" role="search">
        ${namespaceField(namespace, { names, isPartial: sight.isPartial })}
        <p class="field">
          <label for="q">Name</label>
          <input id="q" name="q" type="search" value="${search}" maxlength="256" />
        </p>
        <button>Show</button>
      </form>
      ${all.length === 0 ? '' : html`${cnfTable(part.items)} ${partLinks(part, url, '#filter')}`}`,
  );
};

const PARTIAL =
  'There are more namespaces than the API server is asked about for one page. Write the one that you want into the field above.';

const nameOf = ({ namespace, purpose }: Cnf): string => `${namespace}/${purpose}`;

const cnfTable = (rows: readonly CnfRow[]): Html =>
  table(
    'All CNFs',
    [
      'CNF',
      'Namespace',
      'State',
      'Since',
      'Rules and policies in sync',
      'Pods',
      'WANs up',
      'Tunnels up',
      'Agents',
      'Drift repaired',
    ],
    rows.map((cnf) => {
      const { inSync, total, drifts, lastDrift, outSince, inSyncSince } = cnf.rules;
      const isOut = inSync < total;
      return [
        link(cnfPath(cnf.namespace, cnf.purpose), cnf.purpose || 'rules without a CNF'),
        shown(cnf.namespace),
        stateOf(cnf),
        time(isOut ? outSince : inSyncSince),
        html`${inSync} of ${total}`,
        podsOf(cnf.pods),
        upOf(cnf.pods?.flatMap(({ wans }) => wans)),
        upOf(cnf.pods?.flatMap(({ tunnels }) => tunnels)),
        shown(few(imagesOf(cnf.pods ?? []), 2)) || '–',
        drifts === 0 ? '0' : html`${drifts}, last ${time(lastDrift)}`,
      ];
    }),
  );

const upOf = (all: readonly { up: boolean }[] = []): string =>
  all.length === 0 ? '–' : `${all.filter(({ up }) => up).length} of ${all.length}`;

const stateOf = ({ rules: { inSync, total }, pods = [] }: CnfRow): Html => {
  if (pods.some(({ problem }) => problem !== ''))
    return sign('bad', inSync < total ? 'not in sync' : 'pods need a look');
  if (inSync < total) return sign('bad', 'not in sync');
  return total === 0 ? sign('none', 'no rules') : sign('good', 'in sync');
};

const podsOf = (pods: readonly PodRow[] | undefined): Html => {
  if (pods === undefined) return html`not shown`;
  return html`${pods.filter(({ problem }) => problem === '').length} of ${pods.length}`;
};

const imagesOf = (pods: readonly PodRow[]): string[] =>
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
