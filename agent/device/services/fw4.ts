/**
 * What `fw4 reload` says on its stderr. Its exit code tells nothing: it is 0 when nft refuses the whole set, and then the
 * old rules stay loaded (measured).
 */
import type { UciSection } from '#shared/uci/model.ts';

export type ReloadVerdict = {
  /** Per section, fw4's words about it: it left the section out, or took it only in part. */
  warnings: ReadonlyMap<string, string>;
  /** Set when nft refused everything. `sections`: those that the message can be traced to. */
  refusal: { message: string; sections: readonly string[] } | undefined;
};

const WARNING = /^\[!\] Section (\S+) (?:\(.*?\) )?(.+)$/;
/** A section that says `enabled 0` is left out because it asks for it. */
const ASKED_FOR = /\bis disabled\b/;
const ANONYMOUS = /^@(.+)\[(\d+)\]$/;
const REFUSAL = /\bError: /;
const RULE_COMMENT = /comment "!fw4: (.*?)"/g;
const ZONE_COMMENT = /^(?:Handle|accept|reject|drop) (\S+) /;
/** A refusal repeats itself for each rule that it concerns; the first lines say all. */
const MAX_MESSAGE_LENGTH = 400;

export const readReload = (stderr: string, sections: readonly UciSection[]): ReloadVerdict => {
  const warnings = new Map<string, string>();
  for (const line of stderr.split('\n')) {
    const [, told, words] = WARNING.exec(line) ?? [];
    if (told === undefined || words === undefined || ASKED_FOR.test(words)) continue;
    const section = idOf(told, sections);
    const earlier = warnings.get(section);
    warnings.set(section, shortened(earlier === undefined ? words : `${earlier}; ${words}`));
  }
  if (!REFUSAL.test(stderr)) return { warnings, refusal: undefined };
  return {
    warnings,
    refusal: { message: refusalMessage(stderr), sections: culprits(stderr, sections) },
  };
};

/** An anonymous section is told by its place among those of its type. */
const idOf = (told: string, sections: readonly UciSection[]): string => {
  const [, type, place] = ANONYMOUS.exec(told) ?? [];
  const ofType = sections.filter((section) => section.type === type);
  return ofType[Number(place)]?.name ?? told;
};

const refusalMessage = (stderr: string): string => {
  const line = stderr.split('\n').find((candidate) => REFUSAL.test(candidate)) ?? '';
  return shortened(line.slice(line.search(REFUSAL)));
};

/** nft shows the rule it chokes on, and fw4 writes the `name` option of a rule or zone into each rule's comment. */
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
