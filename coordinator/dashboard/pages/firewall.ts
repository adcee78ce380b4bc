/** The firewall of a CNF: its zones as a picture and in tables, and what becomes of a packet. */
import { few } from '#shared/util/few.ts';
import { caseText, type TraceView } from '../../views/trace.ts';
import {
  firewallKinds,
  PACKET_FIELDS,
  type AskedPacket,
  type FirewallView,
} from '../firewall-view.ts';
import { MAX_COMPILED } from '../read-rules.ts';
import type { SharesOf } from '../shares.ts';
import type { ZoneMap } from '../zone-map.ts';
import { costlyPage, seenCnf, type At, type PageDeps, type SeenCnf } from './look.ts';
import { MAX_ZONES, picture } from './picture.ts';
import {
  asked,
  choices,
  cnfPath,
  firewallPath,
  html,
  link,
  note,
  ruleLink,
  shown,
  sign,
  table,
  tableIfAny,
  type Html,
  type Page,
  type Tone,
  type Viewer,
} from './page.ts';

const seen = (deps: PageDeps, viewer: Viewer, { parts }: At): Promise<SeenCnf | undefined> => {
  const [namespace = '', purpose = ''] = parts;
  return seenCnf(deps, viewer, { namespace, purpose }, { kinds: firewallKinds });
};

const show = async (deps: PageDeps, found: SeenCnf, { url }: At): Promise<Omit<Page, 'mark'>> => {
  const { namespace, purpose } = found;
  const title = `What flows where: ${shown(purpose)}`;
  const head = html`<p>
    ${link(cnfPath(namespace, purpose), `CNF ${purpose}`)}, namespace ${shown(namespace)}, has its
    WANs and tunnels as tables.
  </p>`;
  const why = whyNot(found);
  if (why !== undefined) return { title, body: await html`${head}${note(why)}` };
  const packet = packetOf(url);
  const isAsked = packet.src !== '' || packet.dst !== '';
  const view = await deps.firewall({ ...found, packet: isAsked ? packet : undefined });
  if (view === 'busy') return { title, body: await html`${head}${note(BUSY)}` };
  const shares = found.seesShares ? await deps.shares(found, found.pods) : undefined;
  const form = formOf(firewallPath(namespace, purpose), packet, view.networks);
  return { title, body: await wholly(found, { ...view, shares }, { head, form }) };
};

export const firewallPage = costlyPage(seen, show);

const BUSY = 'Many people ask for firewalls and rules at this moment. Reload the page.';

/** What is not whole would be wrong. */
const whyNot = ({ hidden, rules }: SeenCnf): string | undefined => {
  if (hidden.length > 0)
    return `You may not list ${hidden.join(', ')} here, so this page cannot tell what the firewall does.`;
  if (rules.length > MAX_COMPILED)
    return `It has ${rules.length} rules, which is more than the coordinator compiles for a page; \`kubectl sdewan trace\` answers.`;
  return undefined;
};

const packetOf = (url: URL): AskedPacket => ({
  in: asked(url, 'in'),
  src: asked(url, 'src'),
  dst: asked(url, 'dst'),
  proto: asked(url, 'proto'),
  sport: asked(url, 'sport'),
  dport: asked(url, 'dport'),
  out: asked(url, 'out'),
});

const LABELS: Readonly<Record<(typeof PACKET_FIELDS)[number], string>> = {
  in: 'Comes in by',
  src: 'Source address',
  dst: 'Destination address',
  proto: 'Protocol',
  sport: 'Source port',
  dport: 'Destination port',
  out: 'Leaves by',
};

const formOf = (path: string, packet: AskedPacket, networks: readonly string[]): Html =>
  html`<form id="trace" method="get" action="${path}#trace" class="fields" aria-labelledby="packet">
    <h2 id="packet">What becomes of a packet</h2>
    ${PACKET_FIELDS.map((name) =>
      name === 'in' || name === 'out'
        ? choice(name, packet[name], networks)
        : html`<p>
            <label for="${name}">${LABELS[name]}</label>
            <input
              id="${name}"
              name="${name}"
              value="${packet[name] || (name === 'proto' ? 'tcp' : '')}"
              maxlength="64"
              ${name === 'src' || name === 'dst' ? 'required' : ''}
            />
          </p>`,
    )}
    <p><button>Trace</button></p>
  </form>`;

const choice = (name: 'in' | 'out', given: string, networks: readonly string[]): Html => {
  const all = given === '' || networks.includes(given) ? networks : [given, ...networks];
  return html`<p>
    <label for="${name}">${LABELS[name]}</label>
    <select id="${name}" name="${name}">
      ${choices([['', name === 'in' ? 'the CNF sends it' : 'as the routes say'], ...all.map((one) => [one] as const)], given)}
    </select>
  </p>`;
};

const wholly = (
  { namespace, rules, pods }: SeenCnf,
  { map, trace, shares }: FirewallView & { shares: SharesOf | undefined },
  { head, form }: { head: Html; form: Html },
): Html => {
  const states = new Map(rules.map(({ state }) => [`${state.kind}/${state.name}`, state.state]));
  const made = (one: { kind: string; name: string }): Html =>
    html`${ruleLink({ namespace, ...one })}
    ${states.get(`${one.kind}/${one.name}`) === 'InSync' ? '' : sign('bad', 'not in sync')}`;
  return html`${head}
  ${map.zones.length > MAX_ZONES ? note(`A picture of ${map.zones.length} zones would be a tangle; the tables have all.`) : picture(map, pods, shares)}
  ${form} ${answerOf(trace)} ${tables(map, made)}
  ${tableIfAny(
    'Rules that become no section',
    ['Rule', 'Why'],
    map.leftOut.map((one) => [made(one), shown(one.why)]),
  )}
  ${note('Sections of administrators are not in it: only the CNF itself knows them.')}`;
};

const tables = (
  { zones, forwardings, redirects, devices }: ZoneMap,
  made: (one: { kind: string; name: string }) => Html,
): Html => {
  const named = (zone: string): string => {
    const device = devices.get(zone);
    if (device === undefined) return zone === '*' ? 'any zone' : zone;
    return device === '+' ? 'any device' : `device ${device}`;
  };
  return html`${table(
    'Zones',
    ['Zone', 'Networks', 'To the CNF', 'From the CNF', 'Within the zone', 'Masquerades', 'Rule'],
    zones.map((one) => [
      shown(one.zone),
      shown(one.networks.join(', ')),
      ...[one.input, one.output, one.forward].map((policy) => policy || 'default'),
      one.masquerades ? 'yes' : 'no',
      made(one),
    ]),
  )}
  ${tableIfAny(
    'Forwardings',
    ['From', 'To', 'Rule'],
    forwardings.map((one) => [shown(one.from), shown(one.to), made(one)]),
  )}
  ${tableIfAny(
    'Redirects',
    ['From', 'To', 'Rewrites', 'Into', 'Rule'],
    redirects.map((one) => [
      shown(named(one.from)) || 'any zone',
      shown(named(one.to)) || (one.target === 'DNAT' ? 'the CNF, or any zone' : 'any zone'),
      `${one.target === 'SNAT' ? 'source' : 'destination'} ${shown(one.before) || 'any'}`,
      shown(one.after) || 'those of the CNF',
      made(one),
    ]),
  )}`;
};

type Branch = TraceView['answer']['branches'][number];

const TONES: Readonly<Record<Branch['outcome']['verdict'], Tone>> = {
  accepted: 'good',
  rejected: 'bad',
  dropped: 'bad',
  undecided: 'wait',
};

const answerOf = (trace: FirewallView['trace']): Html => {
  if (trace === undefined) return html``;
  if (typeof trace === 'string')
    return html`<p role="alert" class="note">This packet cannot be traced: ${shown(trace)}</p>`;
  const { packet, answer, notKnown } = trace;
  return html`<section aria-labelledby="answer">
    <h2 id="answer">Answer</h2>
    <p>${shown(packet)}; the first packet of a connection.</p>
    ${answer.branches.map((branch, at) => branchOf(branch, { at, count: answer.branches.length }))}
    ${answer.isWhole ? '' : html`<p>And further cases.</p>`}
    ${notKnown.map((one) => note(`Not known: ${one}`))}
  </section>`;
};

const capitalized = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

const branchOf = (
  { assumed, stages, outcome }: Branch,
  { at, count }: { at: number; count: number },
): Html => {
  const caption = count === 1 ? 'Stages' : `Stages of case ${at + 1}`;
  return html`<p>
      ${assumed.length === 0 ? '' : `${shown(capitalized(caseText(assumed)))}: `}
      <strong>${sign(TONES[outcome.verdict], outcome.text)}</strong>
    </p>
    ${table(
      caption,
      ['Stage', 'What', 'Decided by', 'Passed over'],
      stages.map(({ stage, does, decidedBy, passedOver }) => [
        stage,
        shown(does),
        shown(decidedBy) || '–',
        shown(few(passedOver.map(({ rule, field }) => `${rule} (${field})`))) || '–',
      ]),
    )}`;
};
