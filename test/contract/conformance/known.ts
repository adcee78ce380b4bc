/**
 * What is known to be wrong on a device, as the last runs found it: by way to write and kind, the
 * problems and why they are there. One that is no longer seen is an error as well, so that the list
 * is never longer than the truth.
 */
import type { Path } from './stage.ts';

type Known = { because: string; problems: readonly string[] };

const WITHOUT_IPSEC =
  "this device has no strongSwan that ICN's script could start, so nothing is shown of IPsec";

export const KNOWN: Readonly<Partial<Record<Path, Readonly<Record<string, Known>>>>> = {
  'ubus-staged': {
    IpsecSite: {
      because: 'a login without the program on OpenWRT cannot end tunnels, and the rule says so',
      problems: [
        'deleted: IpsecSite k-site: Removed tunnels of before may still be up, which the agent cannot end on this OpenWRT: k_site, k_site/k_s',
      ],
    },
    IpsecHost: {
      because: 'a login that may not write files cannot bring certificates, and the rule says so',
      problems: ['created', 'changed'].flatMap((operation) => [
        `${operation}: absent: ^charon k_host: .*CN=${operation === 'created' ? 'before' : 'after'}`,
        `${operation}: IpsecHost k-host: Failed spec.authentication_method: pubkey needs certificate files on OpenWRT: the login lacks the right: file read`,
      ]),
    },
  },
  icn: {
    FirewallForwarding: {
      because: "ICN's REST takes no forwarding from everywhere, and the rule says so",
      problems: [
        String.raw`changed: absent: ^iptables filter: .*\* to kzone.*-j zone_kzone_dest_ACCEPT$`,
        'changed: stale: iptables filter: -A zone_kzone_forward -m comment --comment "!fw3: Zone kzone to kzone forwarding policy" -j zone_kzone_dest_ACCEPT',
        "changed: FirewallForwarding k-fwd: Failed spec.src: ICN's REST API takes one zone here",
      ],
    },
    IpsecProposal: {
      because: WITHOUT_IPSEC,
      problems: [
        String.raw`created: absent: ^swanctl connections\.k_site: proposals = aes256-sha256-modp3072$`,
        String.raw`changed: absent: ^swanctl connections\.k_site: proposals = aes128-sha256-modp3072$`,
      ],
    },
    VirtualAddress: {
      because: "ICN's REST knows nothing of keepalived, and the rule says so",
      problems: ['created', 'changed'].flatMap((operation) => {
        const network = `192\\.168\\.${operation === 'created' ? 77 : 78}\\.`;
        return [
          `${operation}: absent: ^route ${network}0\\/24 dev net1 .* src ${network}1$`,
          `${operation}: VirtualAddress k-vip: Failed kind: ICN's REST API does not support VirtualAddress; use driver ubus`,
        ];
      }),
    },
    IpsecHost: {
      because:
        "ICN's REST shows certificates in a form that cannot be compared, and the rule says so",
      problems: ['created', 'changed'].flatMap((operation) => [
        `${operation}: absent: ^charon k_host: .*CN=${operation === 'created' ? 'before' : 'after'}`,
        `${operation}: IpsecHost k-host: Failed spec.authentication_method: ICN's REST API shows certificates in a form that cannot be compared`,
      ]),
    },
    IpsecSite: {
      because: WITHOUT_IPSEC,
      problems: [
        String.raw`created: absent: ^charon k_site: remote: 203\.0\.113\.2$`,
        String.raw`changed: absent: ^charon k_site: remote: 203\.0\.113\.3$`,
      ],
    },
  },
};

export const knownProblems = (path: Path, kind: string): readonly string[] =>
  KNOWN[path]?.[kind]?.problems ?? [];

const FORWARDS_ALL = "ICN's image forwards from zone to zone by default";
const ALREADY = 'net1 sees 172.16.20.1';

/** By way to write and scene: what becomes of a packet instead, in which state. */
export const KNOWN_PACKETS: Readonly<
  Partial<Record<Path, Readonly<Record<string, { because: string; becomes: object }>>>>
> = {
  icn: {
    'a FirewallRule accepts, then drops what the zone rejects': {
      because: FORWARDS_ALL,
      becomes: { before: ALREADY, deleted: ALREADY },
    },
    'a FirewallForwarding forwards, then the other way round only': {
      because: FORWARDS_ALL,
      becomes: { before: ALREADY, changed: ALREADY, deleted: ALREADY },
    },
  },
};

export const knownPackets = (path: Path, scene: string): object =>
  KNOWN_PACKETS[path]?.[scene]?.becomes ?? {};
