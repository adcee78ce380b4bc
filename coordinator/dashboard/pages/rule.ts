/** One rule: what `sdewan explain` says of it. */
import { NOT_KNOWN, type Explained } from '../explain.ts';
import type { Explanation } from '../../views/explanation.ts';
import { CNFS, EVENTS, listedOf, PODS, POLICY, resourceOf, shownKinds } from '../resources.ts';
import type { RuleRow } from '../overview.ts';
import type { Sight } from '../viewer/rights.ts';
import { podCell, stateWords, TONES } from './cnf.ts';
import { eventTable } from './events.ts';
import { costlyPage, seesKind, sightIn, type At, type PageDeps } from './look.ts';
import {
  cnfPath,
  html,
  link,
  markOf,
  note,
  ruleLink,
  shown,
  sign,
  table,
  time,
  type Html,
  type Page,
  type Viewer,
} from './page.ts';
import { packagesText } from '../../views/rendered.ts';

type Seen = {
  rule: RuleRow;
  sight: Sight;
  events: ReturnType<PageDeps['events']['latest']>;
  mark: string;
};

/** Undefined: there is none, or the viewer may not see it. */
const seen = async (deps: PageDeps, viewer: Viewer, { parts }: At): Promise<Seen | undefined> => {
  const [namespace = '', kind = '', name = ''] = parts;
  const listed = resourceOf(kind);
  if (!listed) return undefined;
  const asked = [CNFS, EVENTS, PODS, ...shownKinds.map(listedOf)];
  const sight = await sightIn(deps, viewer, namespace, asked);
  const rule = seesKind(sight, namespace, kind)
    ? deps.overview.ruleNamed(namespace, kind, name)
    : undefined;
  if (!rule) return undefined;
  const { uid, resourceVersion } = rule.object.metadata;
  const events = sight.sees(namespace, EVENTS)
    ? deps.events.latest().filter(({ involved }) => involved.uid === uid)
    : [];
  const rights = asked.map((one) => sight.sees(namespace, one));
  const mark = markOf(JSON.stringify([uid, resourceVersion, events, rights]));
  return { rule, sight, events, mark };
};

const show = async (
  deps: PageDeps,
  { rule, sight, events }: Seen,
): Promise<Content | undefined> => {
  const { namespace, cnf, kind, name } = rule.state;
  const rules = deps.overview.rulesOf({ namespace, purpose: cnf });
  const explained = await deps.explain({
    namespace,
    purpose: cnf,
    kind,
    name,
    count: rules.filter(({ state }) => state.kind !== POLICY).length,
    sees: (one) => seesKind(sight, namespace, one),
    seesPods: sight.sees(namespace, CNFS),
    seesNetworks: sight.sees(namespace, PODS),
    events: events.toReversed(),
  });
  if (explained === 'gone') return undefined;
  const body = explained === 'busy' ? briefly(rule) : wholly(explained, events);
  return { title: `${kind}/${shown(name)}`, body: await body };
};
type Content = Omit<Page, 'mark'>;

export const rulePage = costlyPage(seen, show);

const briefly = ({ state }: RuleRow): Html =>
  html`${head(state)}
  ${note('Many people ask for rules at this moment, so the rest is not shown. Reload the page.')}`;

const head = (state: RuleRow['state']): Html =>
  html`<p>
      For
      ${
        state.cnf === ''
          ? 'no CNF'
          : html`CNF ${link(cnfPath(state.namespace, state.cnf), state.cnf)}`
      },
      namespace ${shown(state.namespace)}, generation ${state.generation}.
    </p>
    <p>${sign(TONES[state.state], stateWords(state))}, ${time(state.since)}</p>
    ${
      state.cause === ''
        ? ''
        : html`<dl>
            <dt>Cause</dt>
            <dd>${shown(state.cause)}</dd>
            ${
              state.cure === undefined
                ? ''
                : html`<dt>What to do</dt>
                    <dd>${shown(state.cure)}</dd>`
            }
          </dl>`
    }`;

const wholly = ({ view, yaml }: Explained, events: Seen['events']): Html => {
  const { rule, uci, uciMissing, refersTo, referredBy, conditions, notes } = view;
  return html`${head(rule)} ${notes.map(note)} ${podTable(rule)}
    ${related('Refers to', rule.namespace, refersTo)}
    ${related('Referred to by', rule.namespace, referredBy)}
    <h2>UCI</h2>
    ${
      uciMissing === undefined
        ? html`<pre>${packagesText(uci).trim()}</pre>`
        : html`<p>None: ${shown(uciMissing)}</p>`
    }
    ${table(
      'Conditions',
      ['Type', 'Status', 'Reason', 'Since'],
      conditions.map((one) => [
        shown(one.type),
        shown(one.status),
        shown(one.reason),
        time(one.since),
      ]),
    )}
    ${eventTable('Events', events)}
    <details id="yaml">
      <summary>YAML, without secrets</summary>
      <pre>${yaml.split('\n').map(shown).join('\n').trim()}</pre>
    </details>`;
};

const podTable = (rule: Explanation['rule']): Html =>
  table(
    'Pods',
    ['Pod', 'State', 'Message'],
    rule.podStates.map((pod) => [shown(pod.pod), podCell(pod), shown(pod.message ?? '') || '–']),
  );

const isInSync = ({ state }: { state: string }): boolean => state === 'InSync';

const stateOf = (one: { state: string }): Html =>
  isInSync(one)
    ? sign('good', 'in sync')
    : sign(one.state === NOT_KNOWN ? 'none' : 'bad', one.state);

/** What is wrong first. */
const related = (caption: string, namespace: string, rules: Explanation['refersTo']): Html =>
  table(
    caption,
    ['Rule', 'State', 'Field'],
    rules
      .toSorted((a, b) => Number(isInSync(a)) - Number(isInSync(b)))
      .map((one) => [ruleLink({ namespace, ...one }), stateOf(one), shown(one.path)]),
  );
