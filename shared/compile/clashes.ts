/**
 * Rules that are in force as they are written and still do not do what they say, because of another
 * section of their package: only their services know how sections act together. Whose that section
 * is, is said in words.
 */
import type { Capabilities } from '../resources/capabilities.ts';
import type { KindDefinition } from '../resources/kind.ts';
import { messageOf } from '../runtime/errors.ts';
import type { UciSection } from '../uci/model.ts';
import type { Candidate } from './candidate.ts';
import type { Forces } from './forces.ts';
import { ledgerKey } from './ownership.ts';

type Situation = {
  forces: Forces;
  desired: ReadonlyMap<string, readonly UciSection[]>;
  /** By package: sections that are not ours. */
  foreign: ReadonlyMap<string, readonly UciSection[]>;
  capabilities: Capabilities;
};

export const clashesOf = (
  kinds: readonly KindDefinition[],
  { forces, desired, foreign, capabilities }: Situation,
): ReadonlyMap<Candidate, string> => {
  const found = new Map<Candidate, string>();
  const judges = new Map(
    kinds.flatMap(({ uci }) => (uci?.clashes ? [[uci.package, uci.clashes] as const] : [])),
  );
  for (const [name, judge] of judges) {
    const authors = new Map(
      [...forces.inForce].flatMap(([author, { sections }]) =>
        author.kind.uci?.package === name
          ? sections.map((each) => [each.name, author] as const)
          : [],
      ),
    );
    const sections = [...(foreign.get(name) ?? []), ...(desired.get(name) ?? [])];
    try {
      for (const { section, other, message } of judge(sections, capabilities)) {
        const author = authors.get(section);
        if (author && !found.has(author))
          found.set(author, message(calledBy(authors, name, other)));
      }
    } catch (error) {
      // In sync would be a guess; rules of other packages go on.
      const message = `the agent cannot tell whether it works beside the other sections: ${messageOf(error)}`;
      for (const author of authors.values()) found.set(author, message);
    }
  }
  return found;
};

const calledBy = (
  authors: ReadonlyMap<string, Candidate>,
  packageName: string,
  section: string,
): string => {
  const rule = authors.get(section)?.rule;
  return rule === undefined
    ? `section ${ledgerKey(packageName, section)} of OpenWRT, which the agent did not make`
    : `${rule.kind} ${rule.metadata.name}`;
};
