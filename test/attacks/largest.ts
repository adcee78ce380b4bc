/** Rules as large as schemas and policies take them, and larger ones. */
import type { NewObject } from '#shared/kube/client.ts';
import { RULE_GROUP, RULE_VERSION } from '#shared/names.ts';

/** Bytes of all annotations, by policy `sdewan-size`; the name of one counts. */
const ANNOTATIONS = 32_768;
const ANNOTATIONS_OF_A_SITE = 262_144;

const objectOf =
  (kind: string, spec: object, annotationBytes: number) =>
  (namespace: string, name: string): NewObject => ({
    apiVersion: `${RULE_GROUP}/${RULE_VERSION}`,
    kind,
    metadata: {
      namespace,
      name,
      labels: { sdewanPurpose: 'cnf-1' },
      ...(annotationBytes > 0 && { annotations: { a: 'x'.repeat(annotationBytes - 1) } }),
    },
    spec,
  });

const many = (count: number, item: (at: number) => string): string[] =>
  Array.from({ length: count }, (_, at) => item(at));

/** A small rule with one large annotation. */
export const zoneWith = (annotationBytes: number) =>
  objectOf('FirewallZone', { network: ['ovn-net1'] }, annotationBytes);

const networks = many(60, (at) => `100.100.${100 + at}.0/24`).join(' ');
const ports = many(85, (at) => `${10_000 + at}-${11_000 + at}`).join(' ');

const firewallRuleSpec = {
  src: '*',
  dest: '*',
  src_ip: networks,
  dest_ip: networks,
  src_mac: many(56, () => '00:11:22:aa:bb:cc').join(' '),
  src_port: ports,
  dest_port: ports,
  proto: 'tcp udp',
  icmp_type: many(64, () => 'network-unreachable'),
  target: 'REJECT',
};

export const largestFirewallRule = objectOf('FirewallRule', firewallRuleSpec, ANNOTATIONS);

/** A rule of the kind with the largest specs: nearly all of one is names of others. */
const proposals = (prefix: string): string[] =>
  many(64, (at) => `${prefix}_${at}_`.padEnd(253, 'x'));

/** None of the proposals exists, which its annotation permits. */
export const largestSite = (namespace: string, name: string): NewObject => {
  const spec = {
    remote: '%any',
    authentication_method: 'psk',
    pre_shared_key: 'x'.repeat(256),
    crypto_proposal: proposals(name),
    connections: many(16, (at) => `${name}_${at}`).map((connection) => ({
      name: connection,
      conn_type: 'tunnel',
      mode: 'add',
      local_subnet: networks,
      remote_subnet: networks,
      crypto_proposal: proposals(connection),
    })),
  };
  const made = objectOf('IpsecSite', spec, 0)(namespace, name);
  const annotations = {
    'sdewan.akraino.org/references': 'off',
    'sdewan.akraino.org/more': 'x'.repeat(ANNOTATIONS_OF_A_SITE / 4),
  };
  return { ...made, metadata: { ...made.metadata, annotations } };
};
