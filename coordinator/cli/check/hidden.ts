/** Rules that decide for no packet of their CNF: legal, and rarely meant. Pure. */
import { ORDER_ANNOTATION } from '#shared/names.ts';
import { kindOf } from '#shared/resources/registry.ts';
import { few } from '#shared/util/few.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { namesAsInterfaces, networksOf } from '../../views/networks.ts';
import { hiddenIn } from '../../views/hidden-rules.ts';
import { bad, good } from './states.ts';
import type { Item } from './view.ts';
import { purposeOf, type ClusterFacts } from '../../views/cluster-facts.ts';

/** Rules of one CNF: a quarter of a second for as many (measured), and their square for more. */
const MAX_RULES = 1_000;

export const hiddenItems = (facts: ClusterFacts): Item[] => {
  const filtering = facts.rules.filter(({ kind }) =>
    ['firewall', 'mwan3'].includes(kindOf(kind)?.uci?.package ?? ''),
  );
  const cnfs = Map.groupBy(filtering, cnfOf);
  const tooMany = [...cnfs].flatMap(([cnf, rules]) => (rules.length > MAX_RULES ? [cnf] : []));
  const found = [...cnfs].flatMap(([cnf, rules]) =>
    tooMany.includes(cnf) ? [] : hiddenOf(cnf, rules, facts),
  );
  if (found.length > 0) return found;
  const left =
    tooMany.length === 0
      ? ''
      : ` (not looked for in ${few(tooMany)}: more than ${MAX_RULES} rules of firewall and mwan3)`;
  return [good(`rules of firewall and mwan3: each can decide for a packet${left}`)];
};

const cnfOf = (rule: RuleObject): string => `${rule.metadata.namespace}/${purposeOf(rule)}`;

const hiddenOf = (cnf: string, rules: readonly RuleObject[], facts: ClusterFacts): Item[] => {
  const [namespace = '', purpose = ''] = cnf.split('/');
  const networks = networksOf(facts, { namespace, purpose }) ?? namesAsInterfaces(rules);
  const status = facts.cnfs.find(
    (one) => one.namespace === namespace && one.purpose === purpose,
  )?.status;
  return [...hiddenIn({ rules, ...networks, status })].map(([name, why]) => {
    const [kind = '', own = ''] = name.split('/');
    return bad(
      `${kind} ${namespace}/${own}`,
      why,
      `Delete it, or have it come first: a lower number in annotation ${ORDER_ANNOTATION}, which is 0 where there is none.`,
    );
  });
};
