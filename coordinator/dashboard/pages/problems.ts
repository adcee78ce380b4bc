/** What is wrong, before all else: each with its message and what to do. */
import { few } from '#shared/util/few.ts';
import { byCause } from '../../views/rule-state.ts';
import { degradedIn, STATE_WORDS } from '../../views/status.ts';
import type { Cnf, PodRow, RollOut, RuleRow } from '../overview.ts';
import {
  cnfPath,
  html,
  link,
  listed,
  ruleLink,
  shown,
  sign,
  time,
  type Html,
  type Tone,
} from './page.ts';

type Problem = {
  tone: Tone;
  words: string;
  /** Whom it concerns. */
  about: Html;
  since: string;
  message: string;
  cure: string;
};

const NAMED = 5;
const MOST = 50;

/** Rules that have one cause in common are one problem. */
const ruleProblems = (rows: readonly RuleRow[]): Problem[] =>
  byCause(rows.map((row) => row.state).filter(({ state }) => state !== 'InSync')).map(
    ({ first: { namespace, cnf, state, reason, cause, cure = '' }, all, since = '' }) => {
      const links = all.slice(0, NAMED).map(ruleLink);
      const more = all.length - links.length;
      const rest = html`, ${link(`${cnfPath(namespace, cnf)}?state=out#search`, `and ${more} more`)}`;
      return {
        tone: state === 'NotInSync' ? 'bad' : 'wait',
        words: `${STATE_WORDS[state]}: ${reason}`,
        about: html`${listed(links)}${more > 0 ? rest : ''}${placeOf({ namespace, purpose: cnf })}`,
        since,
        message: cause,
        cure,
      };
    },
  );

const placeOf = ({ namespace, purpose }: Cnf): Html =>
  html` of ${purpose === '' ? 'no CNF' : link(cnfPath(namespace, purpose), purpose)} in
  ${shown(namespace)}`;

/** The same on several pods is one. */
const podProblems = (cnf: Cnf, pods: readonly PodRow[]): Problem[] => {
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
const faultsOf = (pod: PodRow): (Omit<Problem, 'about'> & { what: string })[] => [
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

const rollOutProblems = (cnf: Cnf, rollOuts: readonly RollOut[]): Problem[] =>
  rollOuts.flatMap(({ name, status }): Problem[] => {
    const degraded = degradedIn(status);
    if (!degraded) return [];
    return [
      {
        tone: 'bad',
        words: degraded.reason,
        about: html`CNFDeployment/${shown(name)}${placeOf(cnf)}`,
        since: degraded.lastTransitionTime,
        message: degraded.message || (status.message ?? ''),
        cure: `kubectl describe cnfdeployment -n ${cnf.namespace} ${name}`,
      },
    ];
  });

type Watched = Cnf & { pods: readonly PodRow[] | undefined; rollOuts: readonly RollOut[] };

export const whatIsWrong = (rules: readonly RuleRow[], cnfs: readonly Watched[]): Html => {
  const problems = [
    ...ruleProblems(rules),
    ...cnfs.flatMap((cnf) => podProblems(cnf, cnf.pods ?? [])),
    ...cnfs.flatMap((cnf) => rollOutProblems(cnf, cnf.rollOuts)),
  ];
  const urgent = problems.toSorted((a, b) => Number(a.tone !== 'bad') - Number(b.tone !== 'bad'));
  const more = problems.length - MOST;
  return html`<h2>What is wrong</h2>
    ${problems.length === 0 ? html`<p>${sign('good', 'Nothing, of what you may see.')}</p>` : ''}
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
