/** What the coordinator has said of rules and pods that a viewer may see, latest first. */
import type { RecentEvent } from '../latest-events.ts';
import { CNFS, EVENTS, resourceOf, shownKindOf } from '../resources.ts';
import type { PageDeps } from './look.ts';
import {
  asked,
  html,
  link,
  namespaceField,
  note,
  pageOf,
  rulePath,
  shown,
  sign,
  table,
  time,
  type Html,
  type Page,
  type Viewer,
} from './page.ts';

const ROWS = 200;

export const eventsPage = async (deps: PageDeps, viewer: Viewer, url: URL): Promise<Page> => {
  const namespace = asked(url, 'namespace');
  const all = deps.events
    .latest()
    .toSorted((a, b) => Number(b.namespace === namespace) - Number(a.namespace === namespace));
  const questions = new Map(
    all.flatMap((event) =>
      [EVENTS, objectOf(event)].map((listed) => [
        `${event.namespace}/${listed.resource}`,
        { namespace: event.namespace, listed },
      ]),
    ),
  );
  const { sees, isPartial } = await deps.rights.of(viewer.user, [...questions.values()]);
  const known = all.filter(
    (event) => sees(event.namespace, EVENTS) && sees(event.namespace, objectOf(event)),
  );
  const names = [...new Set(known.map((event) => event.namespace))];
  const visible = known.filter((event) => [event.namespace, ''].includes(namespace)).slice(0, ROWS);
  return pageOf(
    'Events',
    html`<form id="filter" method="get" action="/events" role="search">
        ${namespaceField(namespace, { names, isPartial })}
        <button>Show</button>
      </form>
      <p>
        Of coordinators, about rules and pods; the latest ${ROWS}, as long as Kubernetes keeps them.
      </p>
      ${isPartial ? note('There are too many namespaces: write the one that you want into the field above.') : ''}
      ${deps.events.problem() === '' ? '' : note('Events cannot be read at the moment, so the latest may be missing.')}
      ${visible.length === 0 ? html`<p>None that you may see.</p>` : eventTable('Latest first', visible)}`,
  );
};

/** By the right on what they are about; of pods and CNFs CNFStatus tells the same. */
const objectOf = ({ involved }: RecentEvent) => resourceOf(involved.kind) ?? CNFS;

export const eventTable = (caption: string, events: readonly RecentEvent[]): Html =>
  table(
    caption,
    ['About', 'Last', 'Type', 'Reason', 'Times', 'Message'],
    events.map(({ namespace, involved, ...event }) => {
      const name = `${involved.kind}/${involved.name}`;
      return [
        shownKindOf(involved.kind)
          ? link(rulePath(namespace, involved.kind, involved.name), `${namespace}: ${name}`)
          : shown(`${namespace}: ${name}`),
        time(event.last),
        sign(event.type === 'Warning' ? 'bad' : 'none', event.type),
        html`<span class="word">${shown(event.reason)}</span>`,
        String(event.count),
        shown(event.message),
      ];
    }),
  );
