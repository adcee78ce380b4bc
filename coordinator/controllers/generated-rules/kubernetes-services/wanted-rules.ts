/**
 * Which FirewallDNATs all Services together ask for. Pure: the same Services give the same rules in
 * whatever order they come. A port of a zone can be given to one Service only; the oldest has it.
 */
import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { checkSpec } from '#shared/compile/check.ts';
import { compare } from '#shared/compile/in-use.ts';
import { ACCEPTS_ANNOTATION } from '#shared/names.ts';
import { firewallDnat } from '#shared/resources/rules/firewall-dnat.ts';
import { oncePerObject } from '#shared/util/memo.ts';
import { MAX_PORTS, type Service, type ServicePort } from './service.ts';

export type ExposeOptions = {
  /** `namespace/purpose` or `purpose` for Services that do not say one; undefined: for none. */
  allTo: string | undefined;
  /** For Services that do not say. */
  zone: string | undefined;
  /** Not exposed by `allTo`. */
  exceptNamespaces: readonly string[];
  /** Such as `22/tcp`: no Service takes them from a CNF. */
  reservedPorts: readonly string[];
};

/** SSH, and IKE. */
export const RESERVED_PORTS: readonly string[] = ['22/tcp', '500/udp', '4500/udp'];

/** A FirewallDNAT as it has to be. */
export type WantedRule = {
  namespace: string;
  name: string;
  purpose: string;
  service: Service;
  spec: Readonly<Record<string, string>>;
};

/** Why (a part of) a Service is not exposed. */
export type Note = { reason: NoteReason; message: string };
export type NoteReason = 'NotExposed' | 'NoCnf' | 'PortTaken';

export type Claims = {
  /** By `namespace/name` of the FirewallDNAT. */
  wanted: ReadonlyMap<string, WantedRule>;
  /** By uid of the Service; those without a problem have none. */
  notes: ReadonlyMap<string, readonly Note[]>;
  /** Uids of Services whose CNF is not known now: their rules stay. */
  undecided: ReadonlySet<string>;
};

export type Cnfs = {
  /** Other namespaces whose Services a CNF exposes; undefined: no pod of it is known. */
  acceptedBy: (namespace: string, purpose: string) => ReadonlySet<string> | undefined;
};

export const NOT_EXPOSED = 'none';

export const claimsOf = (
  services: readonly Service[],
  options: ExposeOptions,
  cnfs: Cnfs,
): Claims => {
  const wanted = new Map<string, WantedRule>();
  const notes = new Map<string, readonly Note[]>();
  const undecided = new Set<string>();
  const holders = new Map<string, Service>();
  const grant = (rule: WantedRule): Note[] => {
    const claim = claimOf(rule);
    const holder = holders.get(claim);
    if (holder) return [taken(rule, holder)];
    holders.set(claim, rule.service);
    wanted.set(keyOf(rule), rule);
    return [];
  };
  for (const service of [...services].sort(byAge)) {
    const refusal = refusalOf(service, options, cnfs);
    const all = refusal ? [refusal] : rulesFor(options)(service);
    const said = all.flatMap((one) => ('reason' in one ? [one] : grant(one)));
    if (said.some(({ reason }) => reason === 'NoCnf')) undecided.add(service.uid);
    if (said.length > 0) notes.set(service.uid, said);
  }
  return { wanted, notes, undecided };
};

const byAge = (a: Service, b: Service): number =>
  compare(a.createdAt, b.createdAt) || compare(a.namespace, b.namespace) || compare(a.name, b.name);

/** Undefined: it is not to be exposed. */
const askedOf = (service: Service, options: ExposeOptions): string | undefined => {
  const { expose, name, namespace } = service;
  if (expose !== undefined) return expose === NOT_EXPOSED || expose === '' ? undefined : expose;
  const isClusterOwn = namespace === 'default' && name === 'kubernetes';
  return isClusterOwn || options.exceptNamespaces.includes(namespace) ? undefined : options.allTo;
};

/** A purpose alone is that of no other namespace: any tenant can make a pod that has it. */
const placeOf = (asked: string, { namespace }: Service): { namespace: string; purpose: string } => {
  const [first = '', second] = asked.split('/');
  return second === undefined
    ? { namespace, purpose: first }
    : { namespace: first, purpose: second };
};

/** The cluster's operator sets `allTo`. A Service may name a CNF elsewhere if that CNF consents. */
const refusalOf = (service: Service, options: ExposeOptions, cnfs: Cnfs): Note | undefined => {
  const asked = askedOf(service, options);
  if (asked === undefined) return undefined;
  const { namespace, purpose } = placeOf(asked, service);
  const accepted = cnfs.acceptedBy(namespace, purpose);
  if (asked === purpose && accepted === undefined) {
    const message = `no pod in namespace ${namespace} has purpose ${purpose}; write namespace/purpose for a CNF of another namespace; ${RULES_STAY}`;
    return { reason: 'NoCnf', message };
  }
  const from = service.namespace;
  if (service.expose === undefined || namespace === from || accepted?.has(from)) return undefined;
  return accepted === undefined
    ? { reason: 'NoCnf', message: `no pod of CNF ${namespace}/${purpose} exists; ${RULES_STAY}` }
    : {
        reason: 'NotExposed',
        message: `CNF ${namespace}/${purpose} does not accept Services of namespace ${from}: its pod template needs annotation ${ACCEPTS_ANNOTATION}: ${from}`,
      };
};

const RULES_STAY = 'the rules that exist stay';

/** All Services are looked at whenever one changes, and each can have hundreds of rules. */
const rulesFor = oncePerObject((options: ExposeOptions) =>
  oncePerObject((service: Service): readonly (WantedRule | Note)[] => {
    const asked = askedOf(service, options);
    if (asked === undefined) return [];
    const { zone = options.zone } = service;
    const problem = whyNotExposed(service, zone);
    if (problem !== undefined) return [{ reason: 'NotExposed', message: problem }];
    const place = placeOf(asked, service);
    return service.ports.flatMap((port) =>
      service.clusterIps.map((clusterIp) => {
        const spec = specOf(zone ?? '', port, clusterIp);
        const refused = problemOf(spec, options);
        if (refused === undefined)
          return { ...place, service, name: nameOf(service, port, clusterIp), spec };
        const message = `port ${spec.src_dport} ${spec.proto}: ${refused}`;
        return { reason: 'NotExposed', message };
      }),
    );
  }),
);

const problemOf = (
  spec: ReturnType<typeof specOf>,
  { reservedPorts }: ExposeOptions,
): string | undefined => {
  if (reservedPorts.includes(`${spec.src_dport}/${spec.proto}`))
    return 'is reserved on CNFs; give the Service another port';
  const checked = checkSpec(firewallDnat, spec);
  return 'spec' in checked ? undefined : checked.problem.message;
};

const whyNotExposed = (service: Service, zone: string | undefined): string | undefined => {
  if (service.type === 'ExternalName')
    return 'a Service of type ExternalName has no cluster IP; use a CNFService for a host name';
  if (service.clusterIps.includes('None'))
    return 'a headless Service has no cluster IP; create another Service that has one';
  if (service.ports.length === 0) return 'the Service has no ports';
  if (service.ports.length > MAX_PORTS)
    return `the Service has more than ${MAX_PORTS} ports; make several Services of it`;
  if (service.clusterIps.every((address) => address === ''))
    return 'the Service has no cluster IP yet';
  if (zone === undefined)
    return 'no zone is given; set the annotation sdewan.akraino.org/expose-zone to the FirewallZone that clients come from';
  return undefined;
};

const specOf = (zone: string, { port, protocol }: ServicePort, clusterIp: string) => ({
  src: zone,
  proto: protocol.toLowerCase(),
  src_dport: String(port),
  dest_ip: clusterIp,
  dest_port: String(port),
  family: isIPv6(clusterIp) ? 'ipv6' : 'ipv4',
});

/** Readable, and told apart by a hash, since names are cut and have dashes in them. */
const nameOf = (
  { namespace, name }: Service,
  { port, protocol }: ServicePort,
  clusterIp: string,
): string => {
  const family = isIPv6(clusterIp) ? 'ipv6' : 'ipv4';
  const hash = createHash('sha256')
    .update([namespace, name, port, protocol, family].join('/'))
    .digest('hex')
    .slice(0, 10);
  return `svc-${name.slice(0, 40)}-${port}-${protocol.toLowerCase()}-${family}-${hash}`;
};

const claimOf = oncePerObject(({ namespace, purpose, spec }: WantedRule): string =>
  [namespace, purpose, spec['src'], spec['proto'], spec['src_dport'], spec['family']].join('/'),
);

/** By object, since each look asks for those of thousands. */
export const keyOf = oncePerObject(
  ({ namespace, name }: { namespace: string; name: string }): string => `${namespace}/${name}`,
);

const taken = ({ spec }: WantedRule, { namespace, name }: Service): Note => ({
  reason: 'PortTaken',
  message: `port ${spec['src_dport']} ${spec['proto']} (${spec['family']}) of zone ${spec['src']} belongs to Service ${namespace}/${name}, which is older`,
});
