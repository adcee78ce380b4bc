/** Zones of a CNF, and what leads from one to the other, by the UCI of its rules. Pure. */
import { compileOffline } from '#shared/compile/offline.ts';
import type { NetworkTable } from '#shared/compile/types.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import type { UciSection } from '#shared/uci/model.ts';

/** Whose section it is. */
type Made = { kind: string; name: string };
export type Zone = Made & {
  zone: string;
  networks: readonly string[];
  /** Policies; '': that of the defaults. */
  input: string;
  output: string;
  forward: string;
  masquerades: boolean;
};
/** Zones. */
export type Forwarding = Made & { from: string; to: string };
/**
 * `from`, `to`: '' where the rule names no zone. `before`, `after`: address and port that it
 * rewrites, and what to; '' for any, or for those of the CNF.
 */
export type Redirect = Forwarding & { target: string; before: string; after: string };

export type ZoneMap = {
  zones: readonly Zone[];
  forwardings: readonly Forwarding[];
  redirects: readonly Redirect[];
  /** By the name of the zone that stands for it: rules name it in the place of a zone. */
  devices: ReadonlyMap<string, string>;
  /** Rules that are not in it, since they become no section. */
  leftOut: readonly (Made & { why: string })[];
};

const PACKAGE = 'firewall';

export const zoneMapOf = (rules: readonly RuleObject[], networks: NetworkTable): ZoneMap => {
  const { desired, verdicts } = compileOffline(rules, { networks });
  const makers = new Map(
    verdicts.flatMap(({ rule, sections }) =>
      sections.map(({ name }): [string, Made] => [
        name,
        { kind: rule.kind, name: rule.metadata.name },
      ]),
    ),
  );
  const ofType = (type: string) =>
    (desired.get(PACKAGE) ?? []).flatMap((section) => {
      const made = makers.get(section.name);
      return section.type === type && made ? [{ made, option: optionsOf(section) }] : [];
    });
  return {
    zones: ofType('zone')
      .filter(({ made }) => made.kind === firewallZone.kind)
      .map(({ made, option }) => ({
        ...made,
        zone: option('name'),
        networks: option('network')
          .split(' ')
          .filter((one) => one !== ''),
        input: option('input'),
        output: option('output'),
        forward: option('forward'),
        masquerades: option('masq') === '1',
      })),
    forwardings: ofType('forwarding').map(({ made, option }) => ({
      ...made,
      from: option('src'),
      to: option('dest'),
    })),
    redirects: ofType('redirect').map(({ made, option }) => {
      const isSource = option('target') === 'SNAT';
      return {
        ...made,
        from: option('src'),
        to: option('dest'),
        target: option('target'),
        before: isSource
          ? endOf(option('src_ip'), option('src_port'))
          : endOf(option('src_dip'), option('src_dport')),
        after: isSource
          ? endOf(option('src_dip'), option('src_dport'))
          : endOf(option('dest_ip'), option('dest_port')),
      };
    }),
    devices: new Map(
      ofType('zone')
        .filter(({ made }) => made.kind !== firewallZone.kind)
        .map(({ option }) => [option('name'), option('device')]),
    ),
    leftOut: verdicts
      .filter(({ sections, verdict }) => sections.length === 0 && verdict !== 'unwanted')
      .map(({ rule, message }) => ({ kind: rule.kind, name: rule.metadata.name, why: message })),
  };
};

const optionsOf =
  ({ options }: UciSection) =>
  (name: string): string => {
    const value = Object.hasOwn(options, name) ? options[name] : undefined;
    return typeof value === 'string' ? value : (value ?? []).join(' ');
  };

const endOf = (address: string, port: string): string =>
  [address, port && `port ${port}`].filter((part) => part !== '').join(' ');
