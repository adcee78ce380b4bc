/**
 * OpenWRT's init script of keepalived (2.3.3): makes /tmp/keepalived.conf of the package at each
 * start and reload, and starts nothing where section `globals` says that it is not enabled. A
 * reload is a signal: keepalived goes on, with the state of the instances that stay.
 */
import { toText, writeBytes } from '../bytes.ts';
import type { DeviceRoot } from '../root.ts';
import type { UciSection } from '../uci/package.ts';
import type { UciStore } from '../uci/store.ts';

export const KEEPALIVED_CONF = '/tmp/keepalived.conf';

/** In the order in which the script prints them. */
const OF_AN_INSTANCE = [
  'state',
  'interface',
  'unicast_src_ip',
  'virtual_router_id',
  'version',
  'priority',
  'advert_int',
  'preempt_delay',
];

export type Keepalived = {
  act: (action: string) => void;
  /** A container that starts. */
  boot: () => void;
};

export const createKeepalived = (root: DeviceRoot, store: UciStore): Keepalived => {
  const write = (isMeant: (sections: readonly UciSection[]) => boolean): void => {
    if (store.text('keepalived') === undefined) return;
    const { sections } = store.load('keepalived').package;
    if (isMeant(sections)) writeBytes(root.path(KEEPALIVED_CONF), confOf(sections));
  };
  return {
    act: (action) => {
      if (action === 'start' || action === 'restart') write(isEnabled);
      if (action === 'reload') write(() => true);
    },
    boot: () => write(isEnabled),
  };
};

const isEnabled = (sections: readonly UciSection[]): boolean => {
  const globals = sections.find(({ name }) => name === 'globals');
  return !['0', 'off', 'false', 'no', 'disabled'].includes(one(globals, 'enabled'));
};

/** Less its hotplug scripts, which only the real device has. */
export const confOf = (sections: readonly Omit<UciSection, 'anonymous'>[]): string => {
  const of = (type: string): typeof sections => sections.filter((each) => each.type === type);
  const named = (type: string, names: readonly string[]): string[] =>
    names.flatMap((name) =>
      of(type)
        .filter((section) => one(section, 'name') === name)
        .map((section) => one(section, 'address'))
        .filter((address) => address !== ''),
    );
  const instances = of('vrrp_instance')
    .filter((section) => one(section, 'name') !== '')
    .map((section) => {
      const listed = {
        virtual_ipaddress: named('ipaddress', many(section, 'virtual_ipaddress')),
        unicast_peer: named('peer', many(section, 'unicast_peer')),
      };
      return block(`vrrp_instance ${one(section, 'name')}`, [
        ...OF_AN_INSTANCE.filter((option) => one(section, option) !== '').map(
          (option) => `${option} ${one(section, option)}`,
        ),
        ...Object.entries(listed)
          .filter(([option]) => many(section, option).length > 0)
          .map(([option, lines]) => block(option, lines)),
      ]);
    });
  return [block('global_defs', ['process_names']), ...instances, ''].join('\n');
};

const block = (title: string, lines: readonly string[]): string =>
  [`${title} {`, ...lines.map((line) => line.replaceAll(/^/gm, '\t')), '}'].join('\n');

type Options = Pick<UciSection, 'options'> | undefined;
const one = (section: Options, option: string): string => many(section, option).join(' ');
/** Lists and words of a text alike, as the shell splits both. */
const many = (section: Options, option: string): string[] =>
  [section?.options.get(option) ?? []]
    .flat()
    .flatMap((value) => toText(value).split(' '))
    .filter((word) => word !== '');
