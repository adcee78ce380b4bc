/** What a tunnel between two devices (test/openwrt/device/link.sh) needs besides its site. */
import type { RuleObject } from '#shared/kube/objects.ts';
import { cr } from '../agent/support/pass.ts';

/**
 * Lets the tunnel's packets in: by the wire, and by the device of a charon that does ESP itself.
 */
export const FOR_TUNNELS: readonly RuleObject[] = [
  ...['wire', 'ipsec0'].map((src) => cr('NetworkFirewallRule', src, { src, target: 'ACCEPT' })),
  cr('IpsecProposal', 'prop', {
    encryption_algorithm: 'aes256',
    hash_algorithm: 'sha256',
    dh_group: 'modp2048',
  }),
];
