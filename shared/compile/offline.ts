/**
 * The compiler of the agents without an OpenWRT. Pure. What only a running one could tell is
 * assumed: a present image with firewall4 and swanctl, and interfaces that rules name. Values of
 * Secrets are not asked for: what a section would have of one is said in words.
 */
import { checkSpec } from './check.ts';
import { compile } from './compile.ts';
import { secretKey, type CompileResult, type PodNetworks } from './types.ts';
import type { RuleObject } from '../kube/objects.ts';
import { OF_TODAY } from '../resources/capabilities.ts';
import { kinds, kindOf } from '../resources/registry.ts';
import type { KindDefinition } from '../resources/kind.ts';
import type { UciPackage, UciSection } from '../uci/model.ts';
import { own } from '../util/own.ts';

/** `rules`: of one CNF. `interfaces`: by their devices, as far as their names are known. */
export const compileOffline = (
  rules: readonly RuleObject[],
  networks: PodNetworks,
  interfaces: ReadonlyMap<string, string> = new Map(),
): CompileResult =>
  compile({
    ...networks,
    rules,
    devices: { defaultRoute: DEFAULT_ROUTE, byAddress: new Map() },
    secrets: placeholdersFor(rules),
    capabilities: OF_TODAY,
    lastGood: new Map(),
    observed: assumed(rules, networks, interfaces),
    ledger: new Set(),
    refused: new Map(),
  });

const DEFAULT_ROUTE = 'default-route';

/** What rules use, as their kinds say; nothing of a rule whose spec is wrong. */
export const usesOf = <T>(
  { kind: name, spec }: RuleObject,
  read: (kind: KindDefinition, spec: unknown) => readonly T[] | undefined,
): readonly T[] => {
  const kind = kindOf(name);
  const checked = kind && checkSpec(kind, spec);
  return kind && checked && 'spec' in checked ? (read(kind, checked.spec) ?? []) : [];
};

/** Files without what makes them, and the interfaces and settings that rules rely on. */
const assumed = (
  rules: readonly RuleObject[],
  { networks }: PodNetworks,
  known: ReadonlyMap<string, string>,
): ReadonlyMap<string, UciPackage> => {
  const interfaces = [...new Set(networks.values())];
  const devices = rules.flatMap((rule) =>
    usesOf(rule, (kind, spec) => kind.devices?.(spec)).map(({ device }) => device),
  );
  const sections: Readonly<Record<string, UciSection[]>> = {
    mwan3: interfaces.map((name) => named('interface', name)),
    network: [...new Set([...interfaces, ...devices, DEFAULT_ROUTE])].map((device) =>
      named('interface', known.get(device) ?? device.replaceAll(/\W/g, '_'), { device }),
    ),
    ipsec: [named('ipsec', 'globals', { rtinstall_enabled: '0' })],
  };
  const names = new Set(kinds.flatMap(({ uci }) => uci?.package ?? []));
  return new Map([...names].map((name) => [name, { name, sections: own(sections, name) ?? [] }]));
};

const named = (type: string, name: string, options: UciSection['options'] = {}): UciSection => ({
  name,
  type,
  anonymous: false,
  options,
});

const placeholdersFor = (rules: readonly RuleObject[]): ReadonlyMap<string, string> =>
  new Map(
    rules.flatMap((rule) =>
      usesOf(rule, (kind, spec) => kind.secrets?.(spec)).map(
        ({ path, name, key }): [string, string] => {
          // As one word: a shared key may have no blanks.
          const words = `key-${key}-of-Secret-${name}`;
          const isPem = path.includes('private_cert');
          return [secretKey(name, key), isPem ? pemOf(words) : words];
        },
      ),
    ),
  );

const pemOf = (words: string): string =>
  `-----BEGIN PRIVATE KEY-----\n${Buffer.from(words).toString('base64')}\n-----END PRIVATE KEY-----\n`;
