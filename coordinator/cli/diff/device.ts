/** `sdewan diff` of a CNF or a pod: UCI as OpenWRT has it, and as the agent wants it. Pure. */
import * as z from 'zod';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { Inspection } from '#shared/protocol/inspection.ts';
import { sectionsEqual } from '#shared/uci/delta.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { ledgerKey } from '#shared/compile/ownership.ts';
import { ruleStateOf } from '../../views/rule-state.ts';
import { API_VERSION, headOf } from '../../views/output/format.ts';
import { printable } from '../../views/output/table.ts';
import { changedLines, lineSchema } from './lines.ts';
import type { AgentPod } from '../../views/cluster-facts.ts';
import { packagesText } from '../../views/rendered.ts';

const sectionChangeSchema = z.object({
  package: z.string(),
  section: z.string(),
  type: z.string(),
  rule: z.string().optional().describe('Kind/name; absent of sections that no rule makes.'),
  change: z
    .enum(['Missing', 'Changed', 'Unwanted', 'Moved'])
    .describe('Unwanted: it would be removed. Moved: it stands at another place.'),
  lines: z.array(lineSchema).describe('Behind -: as OpenWRT has it. Behind +: as it should be.'),
});
type SectionChange = z.infer<typeof sectionChangeSchema>;

const podDiffSchema = z.object({
  namespace: z.string(),
  cnf: z.string(),
  pod: z.string(),
  state: z.enum(['Equal', 'Different', 'Unknown']),
  at: z.string().optional().describe('When OpenWRT was read; RFC 3339.'),
  paused: z.boolean().optional().describe('Its agent changes nothing.'),
  notes: z.array(z.string()).describe('Why it is not known, and what the agent says besides.'),
  changes: z.array(sectionChangeSchema),
});
export type PodDiff = z.infer<typeof podDiffSchema>;

export const podDiffViewSchema = z.object({
  ...headOf('PodDiff'),
  state: z.enum(['Equal', 'Different', 'Unknown']),
  pods: z.array(podDiffSchema),
});
export type PodDiffView = z.infer<typeof podDiffViewSchema>;

export const podDiffViewOf = (pods: readonly PodDiff[]): PodDiffView => {
  const states = new Set(pods.map(({ state }) => state));
  const state = (['Different', 'Unknown'] as const).find((one) => states.has(one)) ?? 'Equal';
  return { apiVersion: API_VERSION, kind: 'PodDiff', state, pods: [...pods] };
};

/** The entry of a pod whose agent has answered. */
export const askedPod = (
  { namespace, name, purpose: cnf }: AgentPod,
  { packages, rules, at, paused, openwrt, waitsFor, lastPass }: Inspection,
): PodDiff => {
  const ruleAt = new Map(
    rules.flatMap((rule) =>
      rule.sections.map((section): [string, string] => [section, `${rule.kind}/${rule.name}`]),
    ),
  );
  const changes = packages.flatMap((one) =>
    sectionChanges(one.held, one.wanted).map((change) => {
      const rule = ruleAt.get(ledgerKey(one.name, change.section));
      return {
        package: one.name,
        ...change,
        ...(rule !== undefined && { rule }),
        lines: linesOf(one.name, change),
      };
    }),
  );
  const unusable = packages.flatMap((one) => (one.unusable === undefined ? [] : [one]));
  const isKnown = packages.length > 0;
  const hindered = lastPass !== undefined && lastPass.outcome !== 'passed' ? lastPass.message : '';
  return {
    namespace,
    cnf,
    pod: name,
    state: !isKnown || unusable.length > 0 ? 'Unknown' : 'Equal',
    ...(changes.length > 0 && { state: 'Different' }),
    at,
    paused,
    notes: [
      ...(openwrt.message === '' ? [] : [openwrt.message]),
      ...waitsFor,
      ...(hindered === '' ? [] : [`the last pass did not succeed: ${hindered}`]),
      ...unusable.map((one) => `package ${one.name}: ${one.unusable}`),
      ...(isKnown || waitsFor.length > 0
        ? []
        : ['the agent does not know yet which rules there are']),
    ],
    changes: changes.map(({ held: _held, wanted: _wanted, ...change }) => change),
  };
};

/** The entry of a pod that cannot be asked: what statuses say of it. */
export const unaskedPod = (
  { namespace, name, purpose: cnf }: AgentPod,
  why: string,
  rules: readonly RuleObject[],
): PodDiff => ({
  namespace,
  cnf,
  pod: name,
  state: 'Unknown',
  notes: [
    why,
    ...rules
      .map(ruleStateOf)
      .filter(({ outOfSync }) => outOfSync.some(({ pod }) => pod === name))
      .map(
        ({ kind, name: rule, reason }) => `by its status ${kind}/${rule} is not in sync: ${reason}`,
      ),
  ],
  changes: [],
});

type Change = Pick<SectionChange, 'section' | 'type' | 'change'> & {
  held: UciSection | undefined;
  wanted: UciSection | undefined;
};

/** In the order of the file as it should be, those that would go last. */
export const sectionChanges = (
  held: readonly UciSection[],
  wanted: readonly UciSection[],
): Change[] => {
  const there = new Map(held.map((section, place) => [section.name, { section, place }]));
  const names = new Set(wanted.map(({ name }) => name));
  const staying = new Set(
    risingNames(
      wanted.flatMap(({ name }) => {
        const known = there.get(name);
        return known ? [{ name, place: known.place }] : [];
      }),
    ),
  );
  const changes = wanted.flatMap((after): Change[] => {
    const before = there.get(after.name)?.section;
    const change = !before
      ? 'Missing'
      : !sectionsEqual(before, after)
        ? 'Changed'
        : staying.has(after.name)
          ? undefined
          : 'Moved';
    if (!change) return [];
    return [{ section: after.name, type: after.type, change, held: before, wanted: after }];
  });
  const unwanted = held
    .filter(({ name }) => !names.has(name))
    .map((section) => ({
      section: section.name,
      type: section.type,
      change: 'Unwanted' as const,
      held: section,
      wanted: undefined,
    }));
  return [...changes, ...unwanted];
};

/** The longest part whose places rise: what need not move. */
const risingNames = (given: readonly { name: string; place: number }[]): string[] => {
  type Link = { name: string; place: number; before: Link | undefined };
  /** By length, the one that ends at the smallest place. */
  const ends: Link[] = [];
  for (const { name, place } of given) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[middle]?.place ?? 0) < place) low = middle + 1;
      else high = middle;
    }
    ends[low] = { name, place, before: ends[low - 1] };
  }
  const names: string[] = [];
  for (let link = ends.at(-1); link; link = link.before) names.push(link.name);
  return names;
};

const linesOf = (name: string, { held, wanted }: Change): SectionChange['lines'] => {
  const textOf = (section: UciSection | undefined): string[] =>
    section === undefined
      ? []
      : packagesText([{ name, sections: [{ ...section, options: sorted(section, held) }] }])
          .split('\n')
          .filter((line) => line.trim() !== '');
  return changedLines(textOf(held), textOf(wanted));
};

/** Options in the order of the other one, since their order means nothing. */
const sorted = ({ options }: UciSection, other: UciSection | undefined): UciSection['options'] => {
  const order = Object.keys(other?.options ?? {});
  const placeOf = (option: string): number => {
    const place = order.indexOf(option);
    return place === -1 ? order.length : place;
  };
  return Object.fromEntries(Object.entries(options).sort(([a], [b]) => placeOf(a) - placeOf(b)));
};

const WORDS: Readonly<Record<SectionChange['change'], string>> = {
  Missing: 'is missing',
  Changed: 'is changed',
  Unwanted: 'is there, and should not be',
  Moved: 'stands at another place',
};

const STATES: Readonly<Record<PodDiff['state'], string>> = {
  Equal: 'as it should be',
  Different: 'different',
  Unknown: 'not known',
};

export const podDiffText = ({ pods }: PodDiffView): string =>
  pods
    .map(({ pod, state, paused, notes, changes }) => {
      const head = `${pod}: ${STATES[state]}${paused === true ? '; its agent is paused' : ''}`;
      const blocks = changes.map(({ section, type, rule, change, lines, ...one }) =>
        [
          `  ${one.package}: ${type} '${section}'${rule === undefined ? '' : ` of ${rule}`} ${WORDS[change]}`,
          ...(change === 'Moved'
            ? []
            : lines.map(
                ({ sign, text }) =>
                  `  ${sign} ${text.startsWith('\t') ? '  ' : ''}${printable(text)}`,
              )),
          '',
        ].join('\n'),
      );
      const said = notes.map((note) => `  ${printable(note)}\n`).join('');
      return `${head}\n${said}${blocks.join('\n')}`;
    })
    .join('\n');
