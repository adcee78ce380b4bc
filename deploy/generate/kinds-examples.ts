import { ipsecSite } from '#shared/resources/rules/ipsec-site.ts';

const { group } = ipsecSite;

/** A spec of each kind that people write, as the reference page shows it. */
export const EXAMPLES: Readonly<Record<string, string>> = {
  FirewallZone: '{ network: [ovn-net1], input: ACCEPT, output: ACCEPT, forward: REJECT }',
  FirewallForwarding: '{ src: branch, dest: uplink }',
  FirewallRule: '{ src: branch, dest: uplink, proto: tcp, dest_port: 25, target: REJECT }',
  FirewallDNAT:
    '{ src: uplink, proto: tcp, src_dport: 443, dest: branch, dest_ip: 192.168.1.5, dest_port: 8443 }',
  FirewallSNAT:
    '{ src: branch, dest: uplink, src_ip: 192.168.1.0/24, src_dip: 203.0.113.4, target: SNAT }',
  NetworkFirewallRule: '{ src: net1, dest: net2, proto: udp, dest_port: 53, target: DROP }',
  CNFNAT:
    '{ src: net2, proto: tcp, src_dport: 443, dest_ip: 192.168.1.5, dest_port: 8443, target: DNAT }',
  Mwan3Policy:
    '{ members: [{ network: ovn-net2, metric: 1, weight: 1 }, { network: ovn-net3, metric: 2, weight: 1 }] }    # a failover',
  Mwan3Rule: '{ policy: balanced, src_ip: 192.168.1.0/24, proto: tcp, dest_port: "443" }',
  CNFRoute: '{ dst: 10.7.0.0/16, gw: 192.168.1.254, dev: net0, table: default }',
  CNFRouteRule: '{ src: 192.168.1.0/24, table: 40, prio: "100" }',
  VirtualAddress: '{ network: ovn-net1, addresses: [192.168.1.1/24] }',
  SdewanApplication: '{ podSelector: { matchLabels: { app: web } }, appNamespace: shop }',
  IpsecProposal: '{ encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072 }',
  IpsecHost: `
  remote: 203.0.113.9
  authentication_method: psk
  pre_shared_key_from: { name: hub-key, key: psk }    # a Secret
  crypto_proposal: [strong]
  connections: [{ name: hub-net, conn_type: tunnel, mode: start, local_sourceip: "%config", remote_subnet: 10.2.0.0/16, crypto_proposal: [strong] }]`,
  CNFService: '{ fullname: api.example.com, port: 8443, dport: 443 }',
  CNFLocalService:
    '{ localservice: cache.edge, localport: 8080, remoteservice: cdn.example.com, remoteport: 80 }',
  CNFHubSite: '{ type: Hub, subnet: 10.7.0.0/16, hubip: 10.3.0.1 }',
  CNFDeployment:
    '{ replicas: 2, selector: { matchLabels: { sdewanPurpose: cnf-1 } }, template: { metadata: { labels: { sdewanPurpose: cnf-1 } }, spec: … }, updates: { schedule: "0 2 * * SUN", timeZone: Europe/Berlin } }',
  ManagedNetwork:
    '{ provider: static, names: [ovn-net1], subnets: [{ cidr: 10.1.0.0/24, ranges: [10.1.0.10-10.1.0.99] }], namespaces: [edge] }',
  NetworkPortPool: '{ network: lan, min: 10, max: 50 }',
};

/** In place of a spec, for the page: all that a kind needs beside deploy/examples. */
export const WHOLE: Readonly<Record<string, readonly string[]>> = {
  IpsecSite: [
    'A whole site, beside `deploy/examples`. A zone masquerades before IPsec looks at a packet: `masq_dest` excludes the other side. What leaves the tunnel comes in by the uplink, and needs a rule.',
    'Where the other side connects first, also accept UDP 500 and 4500, and ESP, from its address.',
    '',
    '```sh',
    'kubectl create secret generic hq-key --from-literal=psk="$(openssl rand -hex 32)"',
    'kubectl create role hq-key --verb=get,list,watch --resource=secrets --resource-name=hq-key',
    'kubectl create rolebinding hq-key --role=hq-key --serviceaccount=edge:cnf-1',
    '```',
    '',
    '```console',
    `$ kubectl apply -f - <<END
apiVersion: ${group}/v1alpha1
kind: IpsecProposal
metadata: { name: strong, labels: { sdewanPurpose: cnf-1 } }
spec: { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072 }
---
apiVersion: ${group}/v1alpha1
kind: IpsecSite
metadata: { name: hq, labels: { sdewanPurpose: cnf-1 } }
spec:
  remote: 203.0.113.9
  authentication_method: psk
  pre_shared_key_from: { name: hq-key, key: psk }
  crypto_proposal: [strong]
  connections: [{ name: hq-net, conn_type: tunnel, mode: start, local_subnet: 192.168.1.0/24, remote_subnet: 10.2.0.0/16, crypto_proposal: [strong] }]
---
apiVersion: ${group}/v1alpha1
kind: FirewallZone
metadata: { name: uplink, labels: { sdewanPurpose: cnf-1 } }
spec: { network: [uplink-1, uplink-2], input: REJECT, output: ACCEPT, forward: REJECT, masq: "1", masq_dest: ["!10.2.0.0/16"] }
---
apiVersion: ${group}/v1alpha1
kind: FirewallRule
metadata: { name: from-hq, labels: { sdewanPurpose: cnf-1 } }
spec: { src: uplink, src_ip: 10.2.0.0/16, dest: branch, dest_ip: 192.168.1.0/24, proto: all, target: ACCEPT }
END
ipsecproposal.${group}/strong created
ipsecsite.${group}/hq created
firewallzone.${group}/uplink configured
firewallrule.${group}/from-hq created
$ kubectl wait --for=condition=Ready ipsecsite/hq --timeout=60s
ipsecsite.${group}/hq condition met
\`\`\``,
    '',
  ],
};
