/**
 * Whether the kernel holds what objects of REST ask of it. REST does not look at the exit codes of `ip`, and the kernel forgets the
 * routes of a link that goes down. In doubt an object counts as held: what is not would be written anew, and then refused.
 */
import * as z from 'zod';
import type { UciSection, UciValue } from '#shared/uci/model.ts';
import { routesOf } from './information.ts';
import { rangeOf } from './overlap.ts';

/** `status`: what the module of v1/status said that shows the collection; undefined when it failed. */
export const isInForce = (packageName: string, section: UciSection, status: unknown): boolean =>
  !isShown(section) || (CHECKS[packageName]?.(section, status) ?? true);

/** Whether v1/status tells of it: table 40 was answered empty in 88 of 100 reads (measured). */
export const isShown = ({ options: { table } }: UciSection): boolean => table !== 'cnf';

type Check = (section: UciSection, status: unknown) => boolean;

const statusSchema = z.object({ status: z.unknown() });
const rulesSchema = z.array(
  z.object({
    prio: z.string(),
    src: z.string().default('all'),
    dst: z.string().default('all'),
    not: z.string().default('false'),
    fwmark: z.string().default('0'),
  }),
);

const isRouteInForce: Check = ({ options: { dst, dev, gw } }, status) => {
  const routes = routesOf(statusSchema.safeParse(status).data?.status);
  const isIt = (route: (typeof routes)[number]): boolean =>
    areSame(route.target, dst) &&
    route.interface === dev &&
    (gw === undefined || route.gateway === gw);
  return routes.length === 0 || routes.some(isIt);
};

const rulesIn = (status: unknown): z.infer<typeof rulesSchema> =>
  rulesSchema.safeParse(statusSchema.safeParse(status).data?.status).data ?? [];

const isRuleInForce: Check = ({ options }, status) => {
  const { src = 'all', dst = 'all', flag = '0', prio, fwmark = '0' } = options;
  const rules = rulesIn(status);
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

const isApplicationInForce: Check = ({ options: { iplist = '' } }, status) => {
  const rules = rulesIn(status);
  const isRouted = (address: string): boolean =>
    rules.some((rule) => rule.not !== 'true' && areSame(rule.src, address));
  return rules.length === 0 || String(iplist).split(',').every(isRouted);
};

const CHECKS: Readonly<Record<string, Check>> = {
  'route/routes': isRouteInForce,
  'rule/rules': isRuleInForce,
  'application/applications': isApplicationInForce,
};

const EVERYTHING = '0.0.0.0/0';

const areSame = (shown: string, wanted: UciValue | undefined): boolean => {
  const [x, y] = [shown, String(wanted)].map((text) =>
    rangeOf(text === 'default' || text === 'all' ? EVERYTHING : text),
  );
  return x === undefined || y === undefined || (x.first === y.first && x.last === y.last);
};
