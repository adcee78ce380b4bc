/** What is wrong, before all else: each with its message and what to do. */
import { few } from '#shared/util/few.ts';
import { STATE_WORDS } from '../../views/status.ts';
import type { PodView, RollOut, RuleRow } from '../overview.ts';
import {
  cnfPath,
  html,
  link,
  listed,
  rulePath,
  shown,
  sign,
  time,
  type Html,
  type Tone,
} from './page.ts';

export type Trouble = {
  tone: Tone;
  words: string;
  /** Whom it concerns. */
  about: Html;
  since: string;
  message: string;
  cure: string;
};
type Place = { namespace: string; purpose: string };

const NAMED = 5;
const MOST = 50;

/** Rules that have one cause in common are one trouble. */
export const ruleTroubles = (rows: readonly RuleRow[]): Trouble[] => {
  const groups = Map.groupBy(rows, ({ state: { namespace, cnf, state, reason, cause } }) =>
    JSON.stringify([namespace, cnf, state, reason, cause]),
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first || first.state.state === 'InSync') return [];
    const { namespace, cnf, state, reason, cause, cure = '' } = first.state;
    const links = group
      .slice(0, NAMED)
      .map(({ state: { kind, name } }) => link(rulePath(namespace, kind, name), `${kind}/${name}`));
    const more = group.length - links.length;
    const all = html`, ${link(`${cnfPath(namespace, cnf)}?state=out#search`, `and ${more} more`)}`;
    return [
      {
        tone: state === 'NotInSync' ? 'bad' : 'wait',
        words: `${STATE_WORDS[state]}: ${reason}`,
        about: html`${listed(links)}${more > 0 ? all : ''}${placeOf({ namespace, purpose: cnf })}`,
        since: group.flatMap((one) => one.state.since ?? []).sort()[0] ?? '',
        message: cause,
        cure,
      },
    ];
  });
};

const placeOf = ({ namespace, purpose }: Place): Html =>
  html` of ${purpose === '' ? 'no CNF' : link(cnfPath(namespace, purpose), purpose)} in
  ${shown(namespace)}`;

/** The same on several pods is one. */
export const podTroubles = (cnf: Place, pods: readonly PodView[]): Trouble[] => {
  const alike = Map.groupBy(
    pods.flatMap((pod) => faultsOf(pod).map((fault) => ({ pod: pod.name, fault }))),
    ({ fault: { since: _since, ...rest } }) => JSON.stringify(rest),
  );
  return [...alike.values()].flatMap((all) => {
    if (!all[0]) return [];
    const { what, ...fault } = all[0].fault;
    const on = few(all.map(({ pod }) => pod));
    const since = all.map((one) => one.fault.since).sort()[0] ?? '';
    return [{ ...fault, since, about: html`${shown(`${what} ${on}`)}${placeOf(cnf)}` }];
  });
};

/** `what`: before the names of pods. */
const faultsOf = (pod: PodView): (Omit<Trouble, 'about'> & { what: string })[] => [
  ...(pod.problem === ''
    ? []
    : [
        {
          tone: pod.hasReported ? ('bad' as const) : ('wait' as const),
          what: 'Pod',
          words: 'needs a look',
          since: '',
          message: pod.problem,
          cure: 'See `kubectl describe pod`, and the log of its agent.',
        },
      ]),
  ...pod.wans
    // An administrator has disabled it.
    .filter(({ up, status }) => !up && status !== 'disabled')
    .map(({ interface: wan, status, since }) => ({
      tone: 'bad' as const,
      what: `WAN ${wan} on`,
      words: status,
      since,
      message: 'mwan3 sends nothing by it.',
      cure: 'Look at the link, and at whether the addresses answer that mwan3 pings.',
    })),
  ...pod.tunnels
    .filter(({ up, starts = false }) => !up && starts)
    .map(({ name, state, words = state, since }) => ({
      tone: 'bad' as const,
      what: `Tunnel ${name} on`,
      words: 'down',
      since,
      message: words,
      cure: 'Look at the other side, and at addresses, keys and proposals of both.',
    })),
];

export const rollOutTroubles = (cnf: Place, rollOuts: readonly RollOut[]): Trouble[] =>
  rollOuts.flatMap(({ name, status: { conditions = [], message = '' } }): Trouble[] => {
    const degraded = conditions.find((one) => one.type === 'Degraded' && one.status === 'True');
    if (!degraded) return [];
    return [
      {
        tone: 'bad',
        words: degraded.reason,
        about: html`CNFDeployment/${shown(name)}${placeOf(cnf)}`,
        since: degraded.lastTransitionTime,
        message: degraded.message || message,
        cure: `kubectl describe cnfdeployment -n ${cnf.namespace} ${name}`,
      },
    ];
  });

export const troublesFirst = (troubles: readonly Trouble[]): Html => {
  const urgent = troubles.toSorted((a, b) => Number(a.tone !== 'bad') - Number(b.tone !== 'bad'));
  const more = troubles.length - MOST;
  return html`<h2>What is wrong</h2>
    ${troubles.length === 0 ? html`<p>${sign('good', 'Nothing, of what you may see.')}</p>` : ''}
    <ul class="wrong">
      ${urgent.slice(0, MOST).map(
        ({ tone, words, about, since, message, cure }) =>
          html`<li>
            <p>${sign(tone, words)} – ${about}${since === '' ? '' : html`, ${time(since)}`}</p>
            <p>${shown(message)}</p>
            ${cure === '' ? '' : html`<p><strong>What to do:</strong> ${shown(cure)}</p>`}
          </li>`,
      )}
    </ul>
    ${more > 0 ? html`<p>And ${more} more.</p>` : ''}`;
};
