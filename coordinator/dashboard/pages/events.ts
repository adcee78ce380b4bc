/** What the coordinator has said of rules and pods that a viewer may see, latest first. */
import { kindOf } from '#shared/resources/registry.ts';
import type { RecentEvent } from '../latest-events.ts';
import { CNFS, EVENTS, resourceOf } from '../resources.ts';
import { sightOf, type PageDeps } from './look.ts';
import {
  asked,
  html,
  link,
  note,
  pageOf,
  row,
  rulePath,
  shown,
  sign,
  scrollTable,
  time,
  type Html,
  type Page,
  type Viewer,
} from './page.ts';

const ROWS = 200;

export const eventsPage = async (deps: PageDeps, viewer: Viewer, url: URL): Promise<Page> => {
  const namespace = asked(url, 'namespace');
  const all = deps.events.latest().filter((event) => [event.namespace, ''].includes(namespace));
  const questions = new Map(
    all.flatMap((event) =>
      [EVENTS, objectOf(event)].map((listed) => [
        `${event.namespace}/${listed.resource}`,
        [event.namespace, listed] as const,
      ]),
    ),
  );
  const { sees, isPartial } = await sightOf(deps, viewer, [...questions.values()]);
  const visible = all
    .filter((event) => sees(event.namespace, EVENTS) && sees(event.namespace, objectOf(event)))
    .slice(0, ROWS);
  return pageOf('Events', {
    form: html`<form method="get" action="/events" role="search">
      <label for="namespace">Namespace</label>
      <input id="namespace" name="namespace" value="${namespace}" maxlength="63" />
      <button>Show</button>
    </form>`,
    body: html`<p>
        Of coordinators, about rules and pods; the latest ${ROWS}, as long as Kubernetes keeps them.
      </p>
      ${isPartial ? note('There are too many namespaces: write the one that you want into the field above.') : ''}
      ${deps.events.problem() === '' ? '' : note('Events cannot be read at the moment, so the latest may be missing.')}
      ${visible.length === 0 ? html`<p>None that you may see.</p>` : eventTable(visible)}`,
  });
};

/** By the right on what they are about; of pods and CNFs CNFStatus tells the same. */
const objectOf = ({ involved }: RecentEvent) => resourceOf(involved.kind) ?? CNFS;

export const eventTable = (events: readonly RecentEvent[]): Html =>
  scrollTable(
    'Events',
    ['About', 'Last', 'Type', 'Reason', 'Times', 'Message'],
    events.map(({ namespace, involved, ...event }) => {
      const name = `${involved.kind}/${involved.name}`;
      return row([
        kindOf(involved.kind)
          ? link(rulePath(namespace, involved.kind, involved.name), `${namespace}: ${name}`)
          : shown(`${namespace}: ${name}`),
        time(event.last),
        sign(event.type === 'Warning' ? 'bad' : 'none', event.type),
        shown(event.reason),
        String(event.count),
        shown(event.message),
      ]);
    }),
  );
