/** What a rule must not have in common with others, or leave to it. */
import type { RuleObject } from '#shared/kube/objects.ts';
import { ORDER_ANNOTATION, PURPOSE_LABEL } from '#shared/names.ts';
import { few } from '#shared/util/few.ts';
import { isKept } from '../../sources/kept-rule.ts';
import { hiddenBehind, hidingRulesAmong } from '../hiding-rules.ts';
import {
  claiming,
  claimsOfRule,
  heldBy,
  networksOfZone,
  onLinkOf,
  sectionOf,
  sharing,
  sharingsOfRule,
  zoneOn,
} from '../index-keys.ts';
import type { Check, RuleChange } from './check.ts';
import { isStaying } from './references.ts';

const isItself = (rule: RuleObject, { kind, name }: RuleChange): boolean =>
  rule.kind === kind.kind && rule.metadata.name === name;

/** Two CRs whose names OpenWRT cannot tell apart: the later one is refused. */
export const nameIsFree: Check = (change, { rules }, { kinds }) => {
  const { operation, kind, name } = change;
  const section = sectionOf(kind, name);
  if (operation !== 'CREATE' || section === undefined) return undefined;
  const owner = rules.find((rule) => {
    const definition = kinds.find((candidate) => candidate.kind === rule.kind);
    return (
      definition !== undefined &&
      isStaying(rule) &&
      !isItself(rule, change) &&
      sectionOf(definition, rule.metadata.name) === section
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

/** What only one rule of a CNF can have, e.g. a virtual router's number: the later is refused. */
export const claimIsFree: Check = (change, { rules }) => {
  const { after, specChanged } = change;
  if (after === undefined || !specChanged) return undefined;
  const others = rules.filter((rule) => isStaying(rule) && !isItself(rule, change));
  const found = heldBy(others, claimsOfRule(after), (key) => claiming(change, key));
  return (
    found && {
      reason: 'NameConflict',
      message: `${found.path}: ${found.other.kind} ${found.other.metadata.name} has ${found.key} on this CNF; choose another`,
    }
  );
};

/**
 * Values that a service takes from one rule for all of them, as charon does a key: two that differ
 * are allowed, and do not work.
 */
export const valueIsTheSame: Check = (change, { rules }) => {
  const { after, specChanged } = change;
  if (after === undefined || !specChanged) return undefined;
  const others = rules.filter((rule) => isStaying(rule) && !isItself(rule, change));
  for (const own of sharingsOfRule(after)) {
    const [any, same] = sharing(change, own);
    const other = others.find((rule) =>
      isKept(rule)
        ? rule.indexKeys.includes(any) && !rule.indexKeys.includes(same)
        : sharingsOfRule(rule).some(({ key, value }) => key === own.key && value !== own.value),
    );
    if (other)
      return {
        reason: 'Caution',
        message: `${own.path}: ${other.kind} ${other.metadata.name} ${own.message}`,
      };
  }
  return undefined;
};

/**
 * What CNFs on one link must not have in common, such as the number of a virtual router. Whether
 * they are on one link is not known here.
 */
export const linkIsOwn: Check = (change, { links }) => {
  const { after, purpose, specChanged } = change;
  if (after === undefined || !specChanged) return undefined;
  const others = links.filter(
    (rule) => isStaying(rule) && rule.metadata.labels?.[PURPOSE_LABEL] !== purpose,
  );
  const claims = claimsOfRule(after).filter(({ onLink }) => onLink);
  const found = heldBy(others, claims, (key) => onLinkOf(change, key));
  if (found === undefined) return undefined;
  const { key, other, path } = found;
  return {
    reason: 'Caution',
    message: `${path}: ${other.kind} ${other.metadata.name} of CNF ${other.metadata.labels?.[PURPOSE_LABEL]} has ${key} as well; where both are on one link, one CNF takes the address from the other: choose another`,
  };
};

/** Two zones on one network: OpenWRT allows it, and gives each packet to the first zone. */
export const networkHasOneZone: Check = (change, { rules }) => {
  const { after, kind, specChanged } = change;
  if (after === undefined || !specChanged) return undefined;
  const others = rules.filter(
    (rule) => rule.kind === kind.kind && isStaying(rule) && !isItself(rule, change),
  );
  const networks = networksOfZone(after);
  for (const [index, network] of networks.entries()) {
    const indexKey = zoneOn(change, network);
    const other = others.find((rule) =>
      isKept(rule) ? rule.indexKeys.includes(indexKey) : networksOfZone(rule).includes(network),
    );
    if (other)
      return {
        reason: 'Caution',
        message: `spec.network[${index}]: ${network} is in ${other.kind} ${other.metadata.name} as well; the firewall puts each packet into the zone that comes first`,
      };
  }
  return undefined;
};

/**
 * A rule that decides for no packet, since others do before it, or one because of which another one
 * does: legal, and rarely meant.
 */
export const isNotHidden: Check = ({ after, specChanged }, { filters }) => {
  if (after === undefined || !specChanged) return undefined;
  const hidingRules = hidingRulesAmong(after, filters);
  const namesOf = (rules: readonly RuleObject[]): string =>
    few(rules.map(({ kind, metadata }) => `${kind} ${metadata.name}`));
  if (hidingRules.length > 0) {
    const decide = hidingRules.length === 1 ? 'decides' : 'decide';
    return {
      reason: 'Caution',
      message: `spec: no packet comes to it: ${namesOf(hidingRules)} ${decide} before it for all that it matches; if that is not meant, have it come first by annotation ${ORDER_ANNOTATION}, or change one of them`,
    };
  }
  const hidden = hiddenBehind(after, filters);
  if (hidden.length === 0) return undefined;
  return {
    reason: 'Caution',
    message: `spec: no packet comes to ${namesOf(hidden)} any more, for which it now decides first; if that is not meant, give it a higher number in annotation ${ORDER_ANNOTATION}, or change one of them`,
  };
};
