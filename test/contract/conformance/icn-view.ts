/**
 * The objects of ICN's REST as its files in /etc/config hold them, after ICN's tables of kinds and
 * fields (icn-sdwan 48d3ca6): read without REST and without the driver.
 */
import type { DeviceSection } from '../../openwrt/checks/uci.ts';

type Options = DeviceSection['options'];

type View = {
  file: string;
  type: string;
  /** Where fields are not the options of their names. */
  fields?: (options: Options, file: readonly DeviceSection[]) => Options;
};

const listed = (value: string | string[] = []): string[] => [value].flat();

const renamed =
  (from: string, to: string) =>
  (options: Options): Options =>
    Object.fromEntries(
      Object.entries(options).map(([option, value]) => [option === from ? to : option, value]),
    );

const withIcmpTypes = ({ icmp_type, ...options }: Options): Options =>
  icmp_type === undefined ? options : { ...options, icmp_type: listed(icmp_type) };

const withMembers = ({ use_member }: Options, file: readonly DeviceSection[]): Options => ({
  members: listed(use_member).map((name) => {
    const member = file.find((section) => section.type === 'member' && section.name === name);
    const { interface: device, metric, weight } = member?.options ?? {};
    return JSON.stringify({ interface: device, metric, weight });
  }),
});

const VIEWS: Readonly<Record<string, View>> = {
  'firewall/zones': { file: 'firewall', type: 'zone' },
  'firewall/forwardings': { file: 'firewall', type: 'forwarding' },
  'firewall/rules': { file: 'firewall', type: 'rule', fields: withIcmpTypes },
  'firewall/redirects': { file: 'firewall', type: 'redirect' },
  'networkfirewall/rules': { file: 'firewall-rule', type: 'rule' },
  'nat/nats': { file: 'firewall-nat', type: 'nat' },
  'mwan3/policies': { file: 'mwan3', type: 'policy', fields: withMembers },
  'mwan3/rules': { file: 'mwan3', type: 'rule', fields: renamed('use_policy', 'policy') },
  'route/routes': { file: 'route-cnf', type: 'route' },
  'rule/rules': { file: 'rule-cnf', type: 'rule' },
  'application/applications': { file: 'app-cnf', type: 'rule', fields: renamed('src', 'iplist') },
  'ipsec/proposals': { file: 'ipsec', type: 'proposal' },
  'ipsec/remotes': { file: 'ipsec', type: 'remote' },
};

/** `read`: the sections of a file. @throws Error for what is no collection */
export const icnView = (
  collection: string,
  read: (file: string) => DeviceSection[],
): DeviceSection[] => {
  const view = VIEWS[collection];
  if (!view) throw new Error(`ICN's REST has no collection ${collection}`);
  const file = read(view.file);
  return file
    .filter((section) => section.type === view.type)
    .map(({ name: id, options: { name, ...options } }) => ({
      name: typeof name === 'string' ? name : id,
      type: collection.split('/')[1] ?? '',
      options: view.fields?.(options, file) ?? options,
    }));
};
