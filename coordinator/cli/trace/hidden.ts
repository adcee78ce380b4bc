/** Which rules of a CNF no packet comes to, and because of whom. Pure. */
import type { RuleObject } from '#shared/kube/objects.ts';
import { few } from '#shared/runtime/few.ts';
import { hiddenRules } from '#shared/trace/hidden.ts';
import type { TracedCnf } from './cnf.ts';
import { originText } from './view.ts';

/** Undefined: some packet comes to it, or it is not known that none does. Sections of others could hide more, never less. */
export const whyHidden = (
  { kind, metadata }: RuleObject,
  { world, nameOf }: TracedCnf,
): string | undefined => {
  const name = `${kind}/${metadata.name}`;
  const hidden = hiddenRules(world.firewall).find(({ section }) => nameOf(section) === name);
  if (!hidden) return undefined;
  const names = hidden.by.map((origin) => originText(origin, nameOf));
  return names.length === 0
    ? 'no packet can match it on this CNF'
    : `no packet comes to it: ${few(names)} ${names.length === 1 ? 'decides' : 'decide'} before it for all that it matches`;
};
