/**
 * What `fw4 reload` says on its stderr. Its exit code tells nothing: it is 0 when nft refuses the
 * whole set, and then the old rules stay loaded (measured).
 */
import type { UciSection } from '#shared/uci/model.ts';
import { BLIND, effectOf } from './fw4-messages.ts';

export type ReloadVerdict = {
  /** Per section, fw4's words about it: it left the section out, or took it only in part. */
  warnings: ReadonlyMap<string, string>;
  /** Those of them that are in force without an option, and so for more packets than they say. */
  wider: ReadonlySet<string>;
  /** Set when nft refused everything. `sections`: those that the message can be traced to. */
  refusal: { message: string; sections: readonly string[] } | undefined;
};

const WARNING = /^\[!\] Section (\S+) (?:\(.*?\) )?(.+)/;
const ANONYMOUS = /^@(.+)\[(\d+)\]$/;
const REFUSAL = /\bError: /;
const RULE_COMMENT = /comment "!fw4: (.*?)"/g;
const ZONE_COMMENT = /^(?:Handle|accept|reject|drop) (\S+) /;
/** A refusal repeats itself for each rule that it concerns; the first lines say all. */
const MAX_MESSAGE_LENGTH = 400;

/** The verdict of a service that says nothing of its sections. */
export const SILENT: ReloadVerdict = {
  warnings: new Map(),
  wider: new Set(),
  refusal: undefined,
};

export const readReload = (stderr: string, sections: readonly UciSection[]): ReloadVerdict => {
  const warnings = new Map<string, string>();
  const wider = new Set<string>();
  for (const line of stderr.split('\n')) {
    const [, shown, words] = WARNING.exec(line) ?? [];
    const effect = words === undefined ? 'none' : effectOf(words);
    if (shown === undefined || words === undefined || effect === 'none') continue;
    const section = idOf(shown, sections);
    const earlier = warnings.get(section);
    warnings.set(section, shortened(earlier === undefined ? words : `${earlier}; ${words}`));
    if (effect === 'wider') wider.add(section);
  }
  if (!REFUSAL.test(stderr)) return { warnings, wider, refusal: undefined };
  const refusal = { message: refusalMessage(stderr), sections: culprits(stderr, sections) };
  return { warnings, wider, refusal };
};

/** Why a reload that ended well has put nothing into force. */
export const blindness = (stderr: string): string | undefined => BLIND.exec(stderr)?.[0];

/** An anonymous section is named by its place among those of its type. */
const idOf = (shown: string, sections: readonly UciSection[]): string => {
  const [, type, place] = ANONYMOUS.exec(shown) ?? [];
  const ofType = sections.filter((section) => section.type === type);
  return ofType[Number(place)]?.name ?? shown;
};

const refusalMessage = (stderr: string): string => {
  const line = stderr.split('\n').find((candidate) => REFUSAL.test(candidate)) ?? '';
  return shortened(line.slice(line.search(REFUSAL)));
};

/** nft shows the rule that it refuses, and fw4 writes the `name` option into its comment. */
const culprits = (stderr: string, sections: readonly UciSection[]): string[] => {
  const named = new Set<string>();
  for (const [, comment = ''] of stderr.matchAll(RULE_COMMENT)) {
    named.add(comment);
    const [, zone] = ZONE_COMMENT.exec(comment) ?? [];
    if (zone !== undefined) named.add(zone);
  }
  return sections
    .filter(({ options }) => typeof options['name'] === 'string' && named.has(options['name']))
    .map(({ name }) => name);
};

const shortened = (text: string): string =>
  text.length > MAX_MESSAGE_LENGTH ? `${text.slice(0, MAX_MESSAGE_LENGTH)}…` : text;
