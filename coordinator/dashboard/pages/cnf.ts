/** One CNF: its pods, and its rules on each of them, in the order of OpenWRT's configuration. */
import type { RuleStateView } from '../../views/rule-state.ts';
import { podStatesOf, wordOf } from '../../views/rules.ts';
import { STATE_WORDS } from '../../views/status.ts';
import { CNFS, POLICY, ROLL_OUTS, shownKinds } from '../resources.ts';
import type { PodRow, RuleRow } from '../overview.ts';
import { costlyPage, seenCnf, type At, type PageDeps, type SeenCnf } from './look.ts';
import { whatIsWrong } from './problems.ts';
import { policyTable, rollOutTable, tunnelTable, wanTable } from './uplinks.ts';
import {
  asked,
  choices,
  cnfPath,
  firewallPath,
  html,
  link,
  note,
  NO_PURPOSE,
  partLinks,
  partOf,
  ruleLink,
  shown,
  sign,
  table,
  time,
  type Html,
  type Page,
  type Tone,
  type Viewer,
} from './page.ts';

/** Rows of rules, and pods that are named in one; the page of a rule has all its pods. */
const ROWS = 100;
const NAMED = 5;

const STATES = ['InSync', 'NotInSync', 'BeingDeleted', 'Unknown'] as const;
export const TONES: Readonly<Record<RuleStateView['state'], Tone>> = {
  InSync: 'good',
  NotInSync: 'bad',
  BeingDeleted: 'wait',
  Unknown: 'none',
};
export const stateWords = ({ state, reason }: Pick<RuleStateView, 'state' | 'reason'>): string =>
  state === 'InSync' ? STATE_WORDS[state] : `${STATE_WORDS[state]}: ${reason}`;

const seen = (deps: PageDeps, viewer: Viewer, { parts }: At): Promise<SeenCnf | undefined> => {
  const [namespace = '', name = ''] = parts;
  const cnf = { namespace, purpose: name === NO_PURPOSE ? '' : name };
  return seenCnf(deps, viewer, cnf, { kinds: shownKinds, also: [ROLL_OUTS] });
};

const show = async (deps: PageDeps, found: SeenCnf, { url }: At): Promise<Omit<Page, 'mark'>> => {
  const { namespace, purpose, rules: all, pods, rollOuts, seesPods, hidden } = found;
  const rules = all.filter(({ state }) => state.kind !== POLICY);
  const shares = found.seesShares ? await deps.shares(found, pods) : undefined;
  const filter = { search: asked(url, 'q').toLowerCase(), state: asked(url, 'state') };
  const part = partOf(
    rules.filter((rule) => fits(rule, filter)),
    url.searchParams.get('page'),
    ROWS,
  );
  const names = pods.map((pod) => pod.name);
  const body = html`<p>
      Namespace ${shown(namespace)}. ${rules.filter(isInSync).length} of ${rules.length} rules are
      in sync.
      ${purpose === '' ? '' : html`${link(firewallPath(namespace, purpose), 'What flows where')}.`}
    </p>
    ${whatIsWrong(all, [found])} ${wanTable(namespace, pods, shares)} ${tunnelTable(pods, all)}
    ${rollOutTable(rollOuts)} ${policyTable(all, stateCell)}
    ${seesPods ? podTable(pods) : note(`You may not list ${CNFS.resource} here, so nothing is said of pods.`)}
    ${formOf(cnfPath(namespace, purpose), filter)}
    ${table(
      'Rules, in the order of the configuration of OpenWRT',
      ['Rule', 'State', 'Since', 'Pods that have it'],
      part.items.map((rule) => ruleCells(rule, names)),
    )}
    ${partLinks(part, url, '#search')}
    ${
      hidden.length > 0
        ? html`<p class="less">
            You may not list ${hidden.join(', ')} here, so they are left out.
          </p>`
        : ''
    }`;
  const title = purpose === '' ? `Rules without a CNF in ${namespace}` : `CNF ${purpose}`;
  return { title, body: await body };
};

export const cnfPage = costlyPage(seen, show);

type Filter = { search: string; state: string };

const isInSync = ({ state }: RuleRow): boolean => state.state === 'InSync';

const fits = ({ state: view }: RuleRow, { search, state }: Filter): boolean => {
  if (state === 'out' && view.state === 'InSync') return false;
  if (STATES.some((one) => one === state) && view.state !== state) return false;
  return search === '' || `${view.kind}/${view.name} ${view.reason}`.toLowerCase().includes(search);
};

const formOf = (path: string, { search, state }: Filter): Html =>
  html`<form id="search" method="get" action="${path}#search" role="search">
    <p class="field">
      <label for="q">Rule or reason</label>
      <input id="q" name="q" type="search" value="${search}" maxlength="256" />
    </p>
    <p class="field">
      <label for="state">State</label>
      <select id="state" name="state">
        ${choices(
          [
            ['', 'all'],
            ['out', 'all but those in sync'],
            ...STATES.map((one) => [one, STATE_WORDS[one]] as const),
          ],
          state,
        )}
      </select>
    </p>
    <button>Show</button>
  </form>`;

const podTable = (pods: readonly PodRow[]): Html =>
  table(
    'Pods',
    ['Pod', 'State', 'Node', 'OpenWRT by', 'Agent', 'Drift repaired'],
    pods.map((pod) => [
      shown(pod.name),
      pod.problem === ''
        ? sign(pod.ready ? 'good' : 'wait', pod.ready ? 'ready' : 'not ready')
        : sign(pod.hasReported ? 'bad' : 'wait', pod.problem),
      shown(pod.node) || '–',
      shown(pod.driver) || '–',
      shown(pod.agentImage) || '–',
      String(pod.driftRepairs),
    ]),
  );

const stateCell = ({ state }: RuleRow): Html =>
  html`${sign(TONES[state.state], stateWords(state))}
  ${state.cause === '' ? '' : html`<p>${shown(state.cause)}</p>`}`;

const ruleCells = (row: RuleRow, pods: readonly string[]): (string | Html)[] => {
  const { state } = row;
  const states = podStatesOf(state, pods);
  const out = states.filter((one) => one.state !== 'InSync');
  const more = out.length - NAMED;
  return [
    ruleLink(state),
    stateCell(row),
    time(state.since),
    html`${states.length - out.length} of ${states.length}
    ${out.slice(0, NAMED).map((pod) => html`<p>${shown(pod.pod)} ${podCell(pod)}</p>`)}
    ${more > 0 ? `and ${more} more` : ''}`,
  ];
};

export const podCell = (pod: ReturnType<typeof podStatesOf>[number] | undefined): Html => {
  if (!pod || pod.state === 'Unknown') return sign('none', 'not known');
  return pod.state === 'InSync' ? sign('good', 'in sync') : sign('bad', wordOf(pod));
};
