/**
 * Whether the kernel has what REST objects ask for. REST does not look at the exit codes of `ip`,
 * and the kernel forgets the routes of a link that goes down. In doubt an object counts as in
 * force: what is not would be written anew, and then refused.
 */
import * as z from 'zod';
import type { UciSection, UciValue } from '#shared/uci/model.ts';
import { parseUntrusted } from '#shared/util/untrusted.ts';
import { routesOf, statusOf } from './information.ts';
import { rangeOf } from './overlap.ts';
import { own } from '#shared/util/own.ts';

/** `answer`: of the module of v1/status that shows the collection; undefined when it failed. */
export const inForceBy = (
  packageName: string,
  answer: unknown,
): ((section: UciSection) => boolean) => {
  const isInKernel = own(CHECKS, packageName)?.(statusOf(answer)) ?? (() => true);
  return (section) => !isShown(section) || isInKernel(section);
};

/** Whether v1/status lists it: table 40 was answered empty in 88 of 100 reads (measured). */
export const isShown = ({ options: { table } }: UciSection): boolean => table !== 'cnf';

/** Reads the module's answer once, and returns whether a given section is in force. */
type Check = (status: unknown) => (section: UciSection) => boolean;

const rulesSchema = z.array(
  z.object({
    prio: z.string(),
    src: z.string().default('all'),
    dst: z.string().default('all'),
    not: z.string().default('false'),
    fwmark: z.string().default('0'),
  }),
);

const routesInForce: Check = (status) => {
  const routes = routesOf(status);
  return ({ options: { dst, dev, gw } }) => {
    const isIt = (route: (typeof routes)[number]): boolean =>
      areSame(route.target, dst) &&
      route.interface === dev &&
      (gw === undefined || route.gateway === gw);
    return routes.length === 0 || routes.some(isIt);
  };
};

const rulesIn = (status: unknown): z.infer<typeof rulesSchema> =>
  parseUntrusted(rulesSchema, status).data ?? [];

const rulesInForce: Check = (status) => {
  const rules = rulesIn(status);
  return ({ options }) => {
    const { src = 'all', dst = 'all', flag = '0', prio, fwmark = '0' } = options;
    return (
      rules.length === 0 ||
      rules.some(
        (rule) =>
          Number(rule.prio) === Number(prio) &&
          (rule.not === 'true') === (flag === '1') &&
          areSame(rule.src, src) &&
          areSame(rule.dst, dst) &&
          Number(rule.fwmark) === Number(fwmark),
      )
    );
  };
};

const applicationsInForce: Check = (status) => {
  const rules = rulesIn(status);
  const isRouted = (address: string): boolean =>
    rules.some((rule) => rule.not !== 'true' && areSame(rule.src, address));
  return ({ options: { iplist = '' } }) =>
    rules.length === 0 || String(iplist).split(',').every(isRouted);
};

const CHECKS: Readonly<Record<string, Check>> = {
  'route/routes': routesInForce,
  'rule/rules': rulesInForce,
  'application/applications': applicationsInForce,
};

const EVERYTHING = '0.0.0.0/0';

const areSame = (shown: string, wanted: UciValue | undefined): boolean => {
  const [x, y] = [shown, String(wanted)].map((text) =>
    rangeOf(text === 'default' || text === 'all' ? EVERYTHING : text),
  );
  return x === undefined || y === undefined || (x.first === y.first && x.last === y.last);
};
