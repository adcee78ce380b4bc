/** One CNF: its pods, and its rules on each of them, in the order of OpenWRT's configuration. */
import type { RuleStateView } from '../../views/rule-state.ts';
import { podStatesOf, wordOf } from '../../views/rules.ts';
import { STATE_WORDS } from '../../views/status.ts';
import { CNFS, ruleResources } from '../resources.ts';
import type { PodView, RuleRow } from '../overview.ts';
import { seesKind, sightOf, type PageDeps } from './look.ts';
import {
  asked,
  cnfPath,
  firewallPath,
  html,
  link,
  note,
  NO_PURPOSE,
  pageOf,
  partLinks,
  partOf,
  row,
  rulePath,
  shown,
  sign,
  scrollTable,
  time,
  type Html,
  type Page,
  type Tone,
  type Viewer,
} from './page.ts';

/** Rows of rules, and columns of pods; the page of a rule has all its pods. */
const ROWS = 100;
const COLUMNS = 20;

const STATES = ['InSync', 'NotInSync', 'BeingDeleted', 'Unknown'] as const;
export const TONES: Readonly<Record<RuleStateView['state'], Tone>> = {
  InSync: 'good',
  NotInSync: 'bad',
  BeingDeleted: 'wait',
  Unknown: 'none',
};
export const stateWords = ({ state, reason }: Pick<RuleStateView, 'state' | 'reason'>): string =>
  state === 'InSync' ? STATE_WORDS[state] : `${STATE_WORDS[state]}: ${reason}`;

/** Undefined: there is none, or the viewer may see nothing of it. */
export const cnfPage = async (
  deps: PageDeps,
  viewer: Viewer,
  { url, parts }: { url: URL; parts: readonly string[] },
): Promise<Page | undefined> => {
  const [namespace = '', name = ''] = parts;
  const purpose = name === NO_PURPOSE ? '' : name;
  const cnf = { namespace, purpose };
  // Asked whether or not it is there, so that the answer is the same.
  const sight = await sightOf(deps, viewer, [
    [namespace, CNFS],
    ...ruleResources.map(([, listed]) => [namespace, listed] as const),
  ]);
  const { overview } = deps;
  const rules = overview
    .rulesOf(cnf)
    .filter(({ object }) => seesKind(sight, namespace, object.kind));
  const seesPods = sight.sees(namespace, CNFS);
  const pods = seesPods ? overview.podsOf(cnf) : [];
  if (rules.length === 0 && pods.length === 0) return undefined;
  const hidden = ruleResources
    .filter(([kind]) => !seesKind(sight, namespace, kind))
    .map(([, { resource }]) => resource);
  const filter = { search: asked(url, 'q').toLowerCase(), state: asked(url, 'state') };
  const part = partOf(
    rules.filter((rule) => fits(rule, filter)),
    url.searchParams.get('page'),
    ROWS,
  );
  const names = pods.slice(0, COLUMNS).map((pod) => pod.name);
  return pageOf(purpose === '' ? `Rules without a CNF in ${namespace}` : `CNF ${purpose}`, {
    form: formOf(cnfPath(namespace, purpose), filter),
    body: html`
      <p>
        Namespace ${shown(namespace)}. ${rules.filter(isInSync).length} of ${rules.length} rules are
        in sync.
        ${purpose === '' ? '' : html`${link(firewallPath(namespace, purpose), 'Its firewall')}.`}
      </p>
      ${seesPods ? podTable(pods) : note(`You may not list ${CNFS.resource} here, so nothing is said of pods.`)}
      ${scrollTable(
        'Rules, in the order of the configuration of OpenWRT',
        ['Rule', 'State', 'Since', ...names.map(shown)],
        part.items.map((rule) => ruleRow(rule, names)),
      )}
      ${
        pods.length > COLUMNS
          ? note(
              `The first ${COLUMNS} of ${pods.length} pods have a column; the page of a rule has all.`,
            )
          : ''
      }
      ${partLinks(part, url)}
      ${
        hidden.length > 0
          ? html`<p class="less">
              You may not list ${hidden.join(', ')} here, so they are left out.
            </p>`
          : ''
      }
    `,
  });
};

type Filter = { search: string; state: string };

const isInSync = ({ state }: RuleRow): boolean => state.state === 'InSync';

const fits = ({ state: view }: RuleRow, { search, state }: Filter): boolean => {
  if (state === 'out' && view.state === 'InSync') return false;
  if (STATES.some((one) => one === state) && view.state !== state) return false;
  return search === '' || `${view.kind}/${view.name} ${view.reason}`.toLowerCase().includes(search);
};

const formOf = (path: string, { search, state }: Filter): Html =>
  html`<form method="get" action="${path}" role="search">
    <label for="q">Rule or reason</label>
    <input id="q" name="q" type="search" value="${search}" maxlength="256" />
    <label for="state">State</label>
    <select id="state" name="state">
      <option value="">all</option>
      <option value="out" ${state === 'out' ? 'selected' : ''}>all but those in sync</option>
      ${STATES.map(
        (one) =>
          html`<option value="${one}" ${one === state ? 'selected' : ''}>
            ${STATE_WORDS[one]}
          </option>`,
      )}
    </select>
    <button>Show</button>
  </form>`;

const podTable = (pods: readonly PodView[]): Html =>
  scrollTable(
    'Pods',
    ['Pod', 'State', 'Node', 'OpenWRT by', 'Agent', 'Drift repaired'],
    pods.map((pod) =>
      row([
        shown(pod.name),
        pod.problem === ''
          ? sign(pod.ready ? 'good' : 'wait', pod.ready ? 'ready' : 'not ready')
          : sign(pod.hasReported ? 'bad' : 'wait', pod.problem),
        shown(pod.node) || '–',
        shown(pod.driver) || '–',
        shown(pod.agentImage) || '–',
        String(pod.driftRepairs),
      ]),
    ),
  );

const ruleRow = ({ state }: RuleRow, pods: readonly string[]): Html => {
  const known = new Map(podStatesOf(state, pods).map((one) => [one.pod, one]));
  return row([
    link(rulePath(state.namespace, state.kind, state.name), `${state.kind}/${state.name}`),
    html`${sign(TONES[state.state], stateWords(state))}
    ${state.cause === '' ? '' : html`<p>${shown(state.cause)}</p>`}`,
    time(state.since),
    ...pods.map((pod) => podCell(known.get(pod))),
  ]);
};

export const podCell = (pod: ReturnType<typeof podStatesOf>[number] | undefined): Html => {
  if (!pod || pod.state === 'Unknown') return sign('none', 'not known');
  return pod.state === 'InSync' ? sign('good', 'in sync') : sign('bad', wordOf(pod));
};
