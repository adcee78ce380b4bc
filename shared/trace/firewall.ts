/**
 * /etc/config/firewall as firewall4 makes rules of the kernel of it. Pure. It says the same as
 * firewall4's own templates: the kernel judges that (test/kernel/trace).
 */
import type { UciSection } from '../uci/model.ts';
import { Building, isRefused, REJECT_CHAIN, verdictChain, zoneVerdicts } from './building.ts';
import { DROP_INVALID, LOOPBACK, SYN_FLOOD, translatedIn } from './inner.ts';
import { readNat } from './nat.ts';
import { readRedirect } from './redirects.ts';
import { readForwarding, readRule } from './rules.ts';
import { Options } from './sections.ts';
import type { ChainRule, Firewall, NetworkState, Verdict, Zone } from './types.ts';
import * as values from './values.ts';
import { readZone, type Policies } from './zones.ts';

export const HOOKS = ['input', 'forward', 'output'] as const;
export type Hook = (typeof HOOKS)[number];

/** @param sections all of the package `firewall`, in file order */
export const firewallOf = (
  sections: readonly UciSection[],
  networks: ReadonlyMap<string, NetworkState>,
): Firewall => {
  const building = new Building(networks);
  const each = (type: string, read: (section: UciSection) => void): void => {
    for (const section of sections)
      if (section.type === type) building.attempt(section, () => read(section));
  };
  const defaults = defaultsOf(sections.find(({ type }) => type === 'defaults'));
  each('ipset', (section) => readSet(section, building));
  each('zone', (section) => readZone(section, defaults.policies, building));
  each('rule', (section) => readRule(section, building));
  each('forwarding', (section) => readForwarding(section, building));
  each('redirect', (section) => readRedirect(section, building));
  each('nat', (section) => readNat(section, building));
  const chains = assembled(building, defaults);
  return {
    chains,
    zones: building.zones,
    skipped: building.skipped,
    refused: [...building.refused, ...refusedZones(building, chains)],
    includes: sections.flatMap(includeOf),
  };
};

/** Only chains to which something leads are written. */
const refusedZones = (
  { zones, reflecting }: Building,
  chains: ReadonlyMap<string, readonly ChainRule[]>,
): Firewall['refused'] => {
  const used = new Set(
    [...chains.values()].flatMap((rules) =>
      rules.flatMap(({ action }) => (action.do === 'jump' ? [action.chain] : [])),
    ),
  );
  return zones
    .filter(({ name }) => {
      const chain = verdictChain('accept', 'to', name);
      return (
        (used.has(chain) || reflecting.has(name)) && chains.get(chain)?.some(isRefused) === true
      );
    })
    .map(({ section }) => ({
      section,
      why: 'it masquerades one version of IP and has subnets of the other',
    }));
};

type Defaults = { policies: Policies; limitsSyn: boolean; dropsInvalid: boolean };

const defaultsOf = (section: UciSection | undefined): Defaults => {
  const options = new Options(
    section ?? { name: '', type: 'defaults', anonymous: true, options: {} },
  );
  const policy = (option: Hook): Verdict => options.one(option, values.policy) ?? 'drop';
  return {
    policies: { input: policy('input'), output: policy('output'), forward: policy('forward') },
    limitsSyn:
      (options.one('synflood_protect', values.bool) ?? options.one('syn_flood', values.bool)) ===
      true,
    dropsInvalid: options.one('drop_invalid', values.bool) === true,
  };
};

const readSet = (section: UciSection, building: Building): void => {
  const options = new Options(section);
  const name = options.one('name', values.identifier);
  const family = options.one('family', values.family) ?? 4;
  const isEnabled = options.one('enabled', values.bool) !== false;
  if (name !== undefined && isEnabled && options.has('match')) building.sets.set(name, family);
};

const includeOf = ({ type, options: { path, enabled } }: UciSection): string[] =>
  type === 'include' && enabled !== '0' && typeof path === 'string' ? [path] : [];

/** Base chains in firewall4's order, from what the sections have put into theirs. */
const assembled = (
  building: Building,
  { policies, limitsSyn, dropsInvalid }: Defaults,
): ReadonlyMap<string, readonly ChainRule[]> => {
  const { chains, zones } = building;
  const all = new Map<string, ChainRule[]>();
  const given = (chain: string): readonly ChainRule[] => chains.get(chain) ?? [];
  for (const hook of HOOKS)
    all.set(hook, [
      ...loopback(hook),
      ...(dropsInvalid ? [dropInvalid] : []),
      ...(hook === 'input' && limitsSyn ? [synFlood] : []),
      ...given(hook),
      ...zones.flatMap((zone) => jumps(zone, `${hook}_${zone.name}`, hook === 'output')),
      policyRule(hook, policies[hook]),
    ]);
  for (const chain of MANGLE) all.set(chain, [...given(chain)]);
  all.set('raw_prerouting', zones.flatMap(notrackJumps));
  all.set(
    'dstnat',
    zones.flatMap((zone) => jumps(zone, `dstnat_${zone.name}`, false)),
  );
  all.set('srcnat', [
    ...given('srcnat'),
    ...zones.flatMap((zone) => jumps(zone, `srcnat_${zone.name}`, true)),
  ]);
  for (const zone of zones)
    for (const [chain, rules] of chainsOf(zone, building, dropsInvalid))
      all.set(chain, [...(all.get(chain) ?? []), ...rules]);
  all.set(REJECT_CHAIN, [{ origin: { of: 'passage' }, conditions: [], action: { do: 'reject' } }]);
  return all;
};

type Chain = readonly [string, readonly ChainRule[]];

/** Zones of one name share them: what sections have put into them stands there once for each. */
const chainsOf = (zone: Zone, building: Building, dropsInvalid: boolean): Chain[] => {
  const { name } = zone;
  const given = (chain: string): readonly ChainRule[] => building.chains.get(chain) ?? [];
  const preventsLeaks = !dropsInvalid && leaks(zone);
  return [
    ...HOOKS.map((hook): Chain => [`${hook}_${name}`, zoneChain(zone, hook, building)]),
    [`dstnat_${name}`, given(`dstnat_${name}`)],
    [`srcnat_${name}`, [...given(`srcnat_${name}`), ...zone.masquerades]],
    [`notrack_${name}`, given(`notrack_${name}`)],
    ...(['accept', 'reject', 'drop'] as const).flatMap((verdict) =>
      (['from', 'to'] as const).map((side): Chain => {
        const prevents = preventsLeaks && verdict === 'accept' && side === 'to';
        const rules = zoneVerdicts(zone, { side, verdict, preventsLeaks: prevents });
        return [verdictChain(verdict, side, name), rules];
      }),
    ),
  ];
};

const MANGLE = [
  'mangle_prerouting',
  'mangle_input',
  'mangle_forward',
  'mangle_output',
  'mangle_postrouting',
];

const loopback = (hook: Hook): ChainRule[] =>
  hook === 'forward'
    ? []
    : [
        {
          origin: LOOPBACK,
          conditions: [
            {
              on: hook === 'input' ? 'in' : 'out',
              names: ['lo'],
              negated: false,
              option: 'device',
            },
          ],
          action: { do: 'accept' },
        },
      ];

const dropInvalid: ChainRule = {
  origin: DROP_INVALID,
  conditions: [{ on: 'invalid', option: 'drop_invalid' }],
  action: { do: 'drop' },
};

/** A zone that translates sources lets nothing out that cannot be translated. */
const leaks = ({ masq, masq6, masqAllowsInvalid }: Zone): boolean =>
  (masq || masq6) && !masqAllowsInvalid;

/** More new connections than the limit are dropped. */
const synFlood: ChainRule = {
  origin: SYN_FLOOD,
  conditions: [
    { on: 'protocol', in: [6], option: 'syn_flood' },
    {
      on: 'unknown',
      words: 'more new connections come than syn_flood allows',
      option: 'syn_flood',
    },
  ],
  action: { do: 'drop' },
};

const jumps = (zone: Zone, chain: string, isEgress: boolean): ChainRule[] =>
  zone.matches.map((match) => ({
    origin: { of: 'entry', section: zone.section, zone: zone.name },
    conditions: match(isEgress ? 'out' : 'in'),
    action: { do: 'jump', chain },
  }));

/** firewall4 forgets zones of which all devices are negated patterns here. */
const notrackJumps = (zone: Zone): ChainRule[] =>
  jumps(zone, `notrack_${zone.name}`, false).filter(({ conditions }) =>
    conditions.some(
      (one) =>
        one.on === 'source' || (one.on === 'in' && !(one.negated && one.names.every(isPattern))),
    ),
  );

const isPattern = (name: string): boolean => name.endsWith('*');

export const policyRule = (hook: Hook, verdict: Verdict): ChainRule => ({
  origin: { of: 'default', option: hook },
  conditions: [],
  action: { do: verdict },
});

/** Rules of a zone's chain, then what was translated, then the zone's policy. */
const zoneChain = (zone: Zone, hook: Hook, { chains, translated }: Building): ChainRule[] => {
  const { section, name } = zone;
  const side = hook === 'input' ? 'from' : 'to';
  return [
    ...(chains.get(`${hook}_${name}`) ?? []),
    ...(hook !== 'output' && translated.has(name)
      ? [
          {
            origin: translatedIn(name),
            conditions: [{ on: 'dnat' as const, option: 'target' }],
            action: { do: 'accept' as const },
          },
        ]
      : []),
    {
      origin: { of: 'zone', section, zone: name, option: hook },
      conditions: [],
      action: { do: 'jump', chain: verdictChain(zone[hook], side, name) },
    },
  ];
};
