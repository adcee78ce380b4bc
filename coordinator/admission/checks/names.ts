/** Two CRs whose names OpenWRT cannot tell apart: the later one is refused. */
import { sectionOf } from '../ties.ts';
import type { Check } from './check.ts';

export const nameIsFree: Check = ({ operation, kind, name }, { rules }, { kinds }) => {
  const section = sectionOf(kind, name);
  if (operation !== 'CREATE' || section === undefined) return undefined;
  const owner = rules.find(({ kind: otherKind, metadata }) => {
    const definition = kinds.find((candidate) => candidate.kind === otherKind);
    return (
      definition !== undefined &&
      metadata.deletionTimestamp === undefined &&
      !(otherKind === kind.kind && metadata.name === name) &&
      sectionOf(definition, metadata.name) === section
    );
  });
  if (owner === undefined) return undefined;
  return {
    reason: 'NameConflict',
    message:
      `metadata.name: OpenWRT has the same name for ${name} and ${owner.kind} ${owner.metadata.name}: ` +
      `section ${section}; choose another name`,
  };
};
