/** Which rules of a CNF no packet comes to, and because of whom. Pure. */
import type { NetworkTable } from '#shared/compile/types.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { CnfStatus } from '#shared/resources/other-kinds/cnf-status.ts';
import { few } from '#shared/util/few.ts';
import { hiddenRules } from '#shared/trace/hidden.ts';
import { reportedCnf } from './traced-cnf.ts';
import { originText } from './trace.ts';

type Cnf = {
  rules: readonly RuleObject[];
  networks: NetworkTable;
  /** Undefined: its addresses have not been reported. */
  status: CnfStatus | undefined;
};

/**
 * By `Kind/name`. Not in it: some packet comes to it, or it is not known that none does. Sections
 * of others could hide more, never less.
 */
export const hiddenIn = (cnf: Cnf): ReadonlyMap<string, string> => {
  const { pod, cnf: traced, nameOf } = reportedCnf(cnf);
  const { uplinks } = traced.surroundings;
  return new Map(
    [traced.firewall, ...(uplinks ? [uplinks] : [])]
      .flatMap(hiddenRules)
      .flatMap(({ section, by }) => {
        // By the addresses of its zones, a translation is reflected as well.
        if (section.type === 'redirect' && !pod) return [];
        const names = by.map((origin) => originText(origin, nameOf));
        return [[nameOf(section), wordsOf(names)] as const];
      }),
  );
};

const wordsOf = (names: readonly string[]): string =>
  names.length === 0
    ? 'no packet can match it on this CNF'
    : `no packet comes to it: ${few(names)} ${names.length === 1 ? 'decides' : 'decide'} before it for all that it matches`;
