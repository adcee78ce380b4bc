/**
 * What the tables of ICN's fields are made of: which option in which file each field of a spec
 * becomes through ICN's REST API, after ICN's field table and the recorded answers (icn-sdwan
 * 48d3ca6). Written apart from kinds and driver, to judge what they come to. A field that a table
 * does not name keeps its name.
 */
import { connectionsOf, device, list, mapped, type Spec } from './uci-table.ts';

type Options = Record<string, unknown>;
type Field = (value: unknown, name: string) => Options;
export type IcnFieldTable = {
  file: string;
  type: string;
  /** The name is the section's; else it is the option `name` of a section without one. */
  isNamed?: true;
  special?: Readonly<Record<string, Field>>;
  always?: () => Options;
};

export const nothing: Field = () => ({});
export const named =
  (option: string): Field =>
  (value) => ({ [option]: mapped(value) });
/** With the word that ICN has for both. */
export const proto: Field = (value) => ({
  proto: ['tcp udp', 'udp tcp'].includes(String(value)) ? 'tcpudp' : value,
});
export const inZones = { name: nothing, src: named('src'), dest: named('dest'), proto };
/** ICN looks the device up once more, and keeps what it found. */
export const found =
  (option: string): Field =>
  (value) => ({ [option]: device(value), [`${option}_val`]: device(value) });

/** Connections are sections of their own, which the kept texts show. */
export const remote: IcnFieldTable = {
  file: 'ipsec',
  type: 'remote',
  isNamed: true,
  always: () => ({ enabled: '1' }),
  special: {
    name: nothing,
    remote: (value) => ({ gateway: value }),
    // Any other means what none means, and would take from those that are what the API sets for
    // them.
    type: (value) => (value === 'VTI-based' ? { type: value } : {}),
    pre_shared_key_from: () => ({ pre_shared_key: 'from-the-secret' }),
    crypto_proposal: (value) => ({ crypto_proposal: list(value).map(mapped) }),
    connections: (value) =>
      Object.fromEntries(
        ['tunnel', 'transport']
          .map((type) => [type, connectionsOf(value, type)] as const)
          .filter(([, names]) => names.length > 0),
      ),
  },
};
export const redirect = (target: string): IcnFieldTable => ({
  file: 'firewall',
  type: 'redirect',
  always: () => ({ target }),
  special: inZones,
});

export type IcnSection = { file: string; type: string; name: string | undefined; options: Options };

/** The section that a CR must become, with at least these options. */
export const icnSectionOf = (table: IcnFieldTable, name: string, spec: Spec): IcnSection => {
  const { file, type, isNamed } = table;
  const options = {
    ...(!isNamed && { name: mapped(name) }),
    ...table.always?.(),
    ...Object.assign({}, ...Object.entries(spec).filter(isSet).map(optionsOf(table, name))),
  };
  return { file, type, name: isNamed && mapped(name), options };
};

const isSet = ([, value]: [string, unknown]): boolean =>
  value !== '' && !(Array.isArray(value) && value.length === 0);

const optionsOf =
  ({ special }: IcnFieldTable, name: string) =>
  ([field, value]: [string, unknown]): Options =>
    Object.fromEntries(
      Object.entries(special?.[field]?.(value, name) ?? { [field]: value }).map(
        ([option, given]) => [option, Array.isArray(given) ? given.map(String) : String(given)],
      ),
    );
