/**
 * SdewanApplication: what chosen pods send goes by the CNF's own routing table, by one `rule`
 * section for each of their addresses. The coordinator follows the pods and writes their addresses
 * to an annotation, so that agents need not watch pods.
 */
import { any, filled, given, specRule } from '../conditions.ts';
import { isIP, isIPv6 } from 'node:net';
import * as z from 'zod';
import { POD_ADDRESSES_ANNOTATION } from '../../names.ts';
import { uciName } from '../../uci/names.ts';
import { icnResource, unsupported, inOwnPackage } from '../icn.ts';
import { defineKind } from '../kind.ts';
import type { Lack, RenderContext } from '../kind.ts';
import { selectorText } from '../../kube/selector.ts';
import { labelSelector } from '../label-selector.ts';
import { CNF_TABLE, withLength } from '../network.ts';
import { ruleResource, section } from '../render.ts';
import { optionalText, optionalTextOrNumber } from '../schema.ts';

/** Each is a section of OpenWRT and a rule of the kernel, which goes over them for every packet. */
export const MAX_POD_ADDRESSES = 1_024;

const unusedPort = () =>
  optionalTextOrNumber({
    must: 'must not have control characters',
    maxLength: 253,
    pattern: '[^\\x00-\\x1f\\x7f]*',
    min: 0,
    max: 65_535,
    examples: [443],
  }).describe("Ignored, also by ICN's controller.");

const spec = z.strictObject({
  podSelector: labelSelector().describe('Selects pods by their labels, as in a Deployment.'),
  appNamespace: optionalText({
    must: 'must be the name of a namespace',
    maxLength: 63,
    pattern: '[a-z0-9]([a-z0-9-]*[a-z0-9])?',
  }).describe(
    'Namespace of the pods, which has to accept it, if it is another one. Absent: all that do, and its own.',
  ),
  servicePort: unusedPort(),
  cnfPort: unusedPort(),
});

/**
 * In front of all others, as the kernel puts ICN's, but not in the places from 1000 to 3999, which
 * mwan3 clears at each reload. Without one netifd counts from 1 through all rules, into those.
 */
const PRIORITY = '900';

/** Undefined: the coordinator has not written them yet. What is no address is left out. */
const addressesIn = ({ annotations }: RenderContext): string[] | undefined =>
  annotations[POD_ADDRESSES_ANNOTATION]?.split(',').filter((one) => isIP(one) !== 0);

/** Without addresses there is no object: the API fails on an empty list. */
const icnApplication = icnResource<z.infer<typeof spec>>({
  collection: 'application/applications',
  ...inOwnPackage,
  limits: {},
  lacks: (_spec, context) => {
    const addresses = addressesIn(context);
    return addresses?.some(isIPv6)
      ? [
          unsupported(
            'spec.podSelector',
            'takes IPv4 addresses only, and selected pods have others',
          ),
        ]
      : lacksOf(addresses);
  },
  object: (_spec, context) => ({ iplist: (addressesIn(context) ?? []).join(',') }),
});

export const sdewanApplication = defineKind({
  ...ruleResource,
  kind: 'SdewanApplication',
  plural: 'sdewanapplications',
  shortNames: ['sdewanapp'],
  description: `Routes packets from the selected pods by table ${CNF_TABLE} of the CNF, whose routes are CNFRoutes with table cnf.`,
  spec,
  specRules: [
    specRule(
      'podSelector',
      any(
        given('appNamespace'),
        filled('podSelector.matchLabels'),
        filled('podSelector.matchExpressions'),
      ),
      'needs a label or an expression, or an appNamespace: otherwise it would select all pods',
    ),
  ],
  pods: ({ podSelector, appNamespace }) => ({
    namespace: appNamespace,
    labelSelector: selectorText(podSelector),
  }),
  uci: {
    package: 'network',
    ownership: 'prefix',
    sectionPrefix: 'sdewan_app_',
    lacks: (_spec, context) => lacksOf(addressesIn(context)),
    render: (_spec, context) =>
      (addressesIn(context) ?? []).map((address) =>
        section(isIPv6(address) ? 'rule6' : 'rule', `${context.sectionName}_${uciName(address)}`, {
          src: withLength(address),
          priority: PRIORITY,
          lookup: CNF_TABLE,
        }),
      ),
  },
  icn: {
    ...icnApplication,
    render: (rule, context) =>
      addressesIn(context)?.length ? icnApplication.render(rule, context) : [],
  },
});

const lacksOf = (addresses: readonly string[] | undefined): Lack[] => {
  if (addresses === undefined) {
    const message = 'the coordinator has not yet written which pods these are';
    return [{ path: 'spec.podSelector', reason: 'WaitingForPods', message }];
  }
  if (addresses.length <= MAX_POD_ADDRESSES) return [];
  const message = `selects pods with more than ${MAX_POD_ADDRESSES} addresses`;
  return [{ path: 'spec.podSelector', reason: 'InvalidSpec', message }];
};
