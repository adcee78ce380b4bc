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

export const podTroubles = (cnf: Place, pods: readonly PodView[]): Trouble[] => [
  ...[...Map.groupBy(pods, ({ problem }) => problem)].flatMap(([problem, alike]): Trouble[] => {
    if (problem === '') return [];
    const hasReported = alike.some((one) => one.hasReported);
    const names = few(alike.map(({ name }) => name));
    return [
      {
        tone: hasReported ? 'bad' : 'wait',
        words: alike.length === 1 ? 'a pod needs a look' : `${alike.length} pods need a look`,
        about: html`${shown(names)}${placeOf(cnf)}`,
        since: '',
        message: problem,
        cure: `kubectl describe pod -n ${cnf.namespace} ${alike[0]?.name ?? ''}`,
      },
    ];
  }),
  ...uplinkTroubles(cnf, pods),
];

/** What is to be up, and is not; the same on several pods is one. */
const uplinkTroubles = (cnf: Place, pods: readonly PodView[]): Trouble[] => {
  const down = pods.flatMap(({ name: pod, wans, tunnels }) => [
    ...wans
      .filter(({ up, status }) => !up && status !== 'disabled')
      .map(({ interface: wan, status, since }) => ({
        pod,
        since,
        what: `WAN ${wan}`,
        words: status,
        message: 'mwan3 sends nothing by it.',
        cure: 'Look at the link, and at whether the addresses answer that mwan3 pings.',
      })),
    ...tunnels
      .filter(({ up, starts = false }) => !up && starts)
      .map(({ name, state, words, since }) => ({
        pod,
        since,
        what: `Tunnel ${name}`,
        words: 'down',
        message: words ?? state,
        cure: 'Look at the other side, and at addresses, keys and proposals of both.',
      })),
  ]);
  const alike = Map.groupBy(down, ({ what, words, message }) =>
    JSON.stringify([what, words, message]),
  );
  return [...alike.values()].flatMap((all): Trouble[] => {
    const [first] = all;
    if (!first) return [];
    const { what, words, message, cure } = first;
    const on = few(all.map(({ pod }) => pod));
    const since = all.map((one) => one.since).sort()[0] ?? '';
    const about = html`${shown(`${what} on ${on}`)}${placeOf(cnf)}`;
    return [{ tone: 'bad', words, about, since, message, cure }];
  });
};

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
