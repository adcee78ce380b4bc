/** A CNF as a trace needs it: its firewall, and what is around it. Pure. */
import { familyOf, numberOf } from '#shared/util/addresses.ts';
import type { NetworkTable } from '#shared/compile/types.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { CnfStatus, PodStatus } from '#shared/resources/other-kinds/cnf-status.ts';
import { ipsecHost } from '#shared/resources/rules/ipsec-host.ts';
import { ipsecSite } from '#shared/resources/rules/ipsec-site.ts';
import { firewallOf } from '#shared/trace/firewall.ts';
import { sizeOf } from '#shared/trace/prefixes.ts';
import type { TracedCnf } from '#shared/trace/trace.ts';
import type { Firewall, NetworkState, Prefix, Route, Surroundings } from '#shared/trace/types.ts';
import { uplinksOf } from '#shared/trace/uplinks.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { compileOffline } from '#shared/compile/offline.ts';

/** `nameOf`: whose section it is. */
export type CnfToTrace = {
  cnf: Omit<TracedCnf, 'out' | 'firewall'> & { firewall: Firewall };
  nameOf: (section: UciSection) => string;
};

type Given = {
  rules: readonly RuleObject[];
  networks: NetworkTable;
  surroundings: Surroundings;
  /** Sections of others; undefined: not known. */
  others: readonly UciSection[] | undefined;
};

const PACKAGE = 'firewall';
const NETWORK = 'network';
const MWAN3 = 'mwan3';

export const tracedCnf = ({ rules, networks, surroundings, others }: Given): CnfToTrace => {
  const { desired, verdicts } = compileOffline(rules, { networks });
  const names = new Map(
    verdicts.flatMap(({ rule, sections }) =>
      sections
        .filter((one) => one.package === PACKAGE || one.package === MWAN3)
        .map((one): [string, string] => [one.name, `${rule.kind}/${rule.metadata.name}`]),
    ),
  );
  const sections = [
    ...(others ?? []).filter(({ name }) => !names.has(name)),
    ...(desired.get(PACKAGE) ?? []),
  ];
  return {
    cnf: {
      firewall: firewallOf(sections, surroundings.networks),
      surroundings: {
        ...withStaticRoutes(surroundings, desired.get(NETWORK) ?? [], nameInFiles),
        uplinks: uplinksOf(desired.get(MWAN3) ?? []),
      },
      isWhole: others !== undefined,
    },
    nameOf: sectionNames(names),
  };
};

/** What the compiler without an OpenWRT calls the interface of a device. */
const nameInFiles = (_: string, device: string): string => device.replaceAll(/\W/g, '_');

/**
 * With the routes of table main that sections of package network make: an agent reports new ones
 * after a while only. Not known where no routes are. `nameOf`: the interface's in these sections.
 */
export const withStaticRoutes = (
  surroundings: Surroundings,
  sections: readonly UciSection[],
  nameOf = (name: string, _device: string): string => name,
): Surroundings => {
  const { networks, routes } = surroundings;
  const devices = new Map(
    [...networks].flatMap(([name, { device }]): [string, string][] =>
      device === undefined ? [] : [[nameOf(name, device), device]],
    ),
  );
  const made = sections.flatMap(({ type, options }): Route[] => {
    const { interface: name, target, table, netmask } = options;
    if (type !== 'route' && type !== 'route6') return [];
    if (typeof name !== 'string' || typeof target !== 'string') return [];
    const [to, device] = [prefixOf(target), devices.get(name)];
    const isOther = table !== undefined || netmask !== undefined || options.disabled === '1';
    return isOther || !to || device === undefined ? [] : [{ to, device, metric: 0 }];
  });
  return routes ? { ...surroundings, routes: [...routes, ...made] } : surroundings;
};

/** What a trace leaves out, by the kinds of the CNF's rules: routes and filters alone are read. */
export const leftOutFor = (kinds: Iterable<string>): string[] =>
  [...kinds].some((kind) => kind === ipsecSite.kind || kind === ipsecHost.kind)
    ? ['the policies of IPsec, by which a packet goes into a tunnel once it is translated']
    : [];

/**
 * By what agents report, and without sections of others. `pod`: whose addresses and routes these
 * are; undefined where none are known.
 */
export const reportedCnf = ({
  rules,
  networks,
  status,
}: Pick<Given, 'rules' | 'networks'> & { status: CnfStatus | undefined }): CnfToTrace & {
  pod: PodStatus | undefined;
} => {
  const pod = reportingPod(status);
  const surroundings = pod ? surroundingsOf(pod) : bareSurroundings(networks);
  return { pod, ...tracedCnf({ rules, networks, surroundings, others: undefined }) };
};

/** `rules`: of which rule a section is, by its name. */
export const sectionNames =
  (rules: ReadonlyMap<string, string>) =>
  ({ name, anonymous, type, options }: UciSection): string =>
    rules.get(name) ??
    `administrator's section ${anonymous ? `of type ${type}${typeof options.name === 'string' ? ` (${options.name})` : ''}` : name}`;

/** Where no more is known: interfaces are devices, and have no addresses. */
export const bareSurroundings = (networks: NetworkTable): Surroundings => ({
  networks: new Map(
    [...networks.values()].map((name): [string, NetworkState] => [
      name,
      { device: name, addresses: [] },
    ]),
  ),
  routes: undefined,
  wans: [],
});

/** The first whose agent has reported addresses. */
export const reportingPod = (status: CnfStatus | undefined): PodStatus | undefined =>
  status?.information?.find(({ interfaces = [] }) => interfaces.length > 0);

/** As the agent of a pod has reported. */
export const surroundingsOf = ({
  interfaces = [],
  routes = [],
  wans = [],
}: PodStatus): Surroundings => {
  const networks = new Map(
    interfaces.map(({ name, device, addresses }): [string, NetworkState] => [
      name,
      { device: device ?? name, addresses: addresses.flatMap((text) => prefixOf(text) ?? []) },
    ]),
  );
  return {
    networks,
    routes: routes.flatMap((one): Route[] => {
      const to = prefixOf(one.target);
      const device = networks.get(one.interface)?.device ?? one.interface;
      return to ? [{ to, device, metric: one.metric ?? 0 }] : [];
    }),
    wans: wans.map((one) => one.interface),
  };
};

/** `default` is that of IPv4. */
const prefixOf = (text: string): Prefix | undefined => {
  const [address = '', length] = (text === 'default' ? '0.0.0.0/0' : text).split('/');
  const family = familyOf(address);
  return family && { family, address: numberOf(address), bits: Number(length ?? sizeOf(family)) };
};
