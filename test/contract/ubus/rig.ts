/**
 * The device that the exchanges were recorded on, as far as it can be told from them: its packages,
 * its rights and its extra programs. Texts are byte for byte those of the rig wherever a recorded
 * md5 or size can tell.
 */
import type { Program } from '../../openwrt/simulator/programs/runner.ts';

export const MWAN3 = `config globals 'globals'
	option mmx_mask '0x3F00'
	option logging '1'
	option loglevel 'notice'

config interface 'wan'
	option enabled '1'
	option family 'ipv4'
	option reliability '1'
	option count '1'
	option timeout '4'
	option interval '10'
	option down '3'
	option up '3'
	list track_ip '8.8.8.8'
	list track_ip '1.1.1.1'

config interface 'wan2'
	option enabled '1'
	option family 'ipv4'
	option reliability '1'
	option count '1'
	option timeout '4'
	option interval '10'
	option down '3'
	option up '3'
	list track_ip '8.8.4.4'

config interface 'ovn_net1'
	option enabled '1'
	option family 'ipv4'
	option reliability '1'
	list track_ip '172.16.30.1'

config interface 'ovn_net2'
	option enabled '1'
	option family 'ipv4'
	option reliability '1'
	list track_ip '172.16.40.1'

config member 'wan_m1_w3'
	option interface 'wan'
	option metric '1'
	option weight '3'

config member 'wan2_m2_w2'
	option interface 'wan2'
	option metric '2'
	option weight '2'

config policy 'wan_only'
	list use_member 'wan_m1_w3'
	option last_resort 'unreachable'

config policy 'wan_wan2'
	list use_member 'wan_m1_w3'
	list use_member 'wan2_m2_w2'

config rule 'default_rule_v4'
	option dest_ip '0.0.0.0/0'
	option use_policy 'wan_wan2'
	option family 'ipv4'
`;

const interfaceSection = (name: string, device: string, address: string, more = ''): string =>
  `\nconfig interface '${name}'\n\toption device '${device}'\n\toption proto 'static'\n\toption ipaddr '${address}'\n\toption netmask '255.255.255.0'\n${more}`;

const gateway = (address: string, metric: number): string =>
  `\toption gateway '${address}'\n\toption metric '${metric}'\n`;

export const NETWORK = [
  "config interface 'loopback'\n\toption device 'lo'\n\toption proto 'static'\n\toption ipaddr '127.0.0.1'\n\toption netmask '255.0.0.0'\n",
  "\nconfig globals 'globals'\n\toption ula_prefix 'fd7a:115c:a1e0::/48'\n",
  interfaceSection('lan', 'eth0', '192.168.1.1'),
  interfaceSection('wan', 'net1', '10.10.70.39', gateway('10.10.70.1', 10)),
  interfaceSection('wan2', 'net2', '10.10.80.39', gateway('10.10.80.1', 20)),
  interfaceSection('ovn_net1', 'net1', '172.16.30.10'),
  interfaceSection('ovn_net2', 'net2', '172.16.40.10'),
].join('');

/**
 * A comment that brings a text to the size that the rig's file had, whose words were not recorded.
 */
const padded = (text: string, bytes: number): string =>
  `${text}#${' '.repeat(bytes - text.length - 2)}\n`;

const LOGINS = { root: '*', viewer: 'viewer' };

const login = (username: string, groups: readonly string[], write: boolean): string =>
  [
    `config login\n\toption username '${username}'\n\toption password '$p$${username}'\n`,
    ...groups.map((group) => `\tlist read '${group}'\n`),
    ...(write ? groups.map((group) => `\tlist write '${group}'\n`) : []),
  ].join('');

/** `rpcd` is left to the rig that records it: its logins differ. */
export const packagesOf = (rig: {
  firewall: string;
  rpcd: string;
  luciBytes: number;
}): Record<string, string> => ({
  firewall: rig.firewall,
  mwan3: MWAN3,
  network: NETWORK,
  ipsec: padded('', 34),
  luci: padded('', rig.luciBytes),
  rpcd: rig.rpcd,
  system: `config system\n\toption hostname 'OpenWrt'\n\toption description '${'x'.repeat(68)}'\n`,
  ucitrack: padded('', 788),
});

export const RPCD_OF_UBUS = padded(
  login('root', [LOGINS.root], true) + login('viewer', [LOGINS.viewer], false),
  311,
);

export const RPCD_OF_APPLY = padded(
  login('root', ['*'], true) +
    login('sdewan', ['sdewan-agent'], true) +
    login('lowly', ['sdewan-lowly'], true) +
    login('stock', ['luci-base', 'luci-app-firewall'], true),
  795,
);

/**
 * The rig's userland was merged into /usr, and a shell was at hand. `generate` stands for genfw.sh,
 * and gives the size.
 */
export const rigPrograms = (
  generate: (count: number) => number,
): Record<string, Program | string> => ({
  '/usr/bin/uci': '/sbin/uci',
  '/usr/sbin/fw4': '/sbin/fw4',
  '/usr/bin/dd': '/bin/dd',
  '/bin/sh': ({ params }) => SHELL[params[1] ?? ''] ?? { code: 127, stdout: '', stderr: '' },
  '/bin/bash': ({ params }) => {
    const count = Number(/^genfw\.sh (\d+) > /.exec(params[1] ?? '')?.[1]);
    const stdout = `-rw------- 1 root root ${generate(count)} Nov 20 21:19 /etc/config/bigfw\n`;
    return { code: 0, stdout, stderr: '' };
  },
});

const SHELL: Readonly<Record<string, { code: number; stdout: string; stderr: string }>> = {
  'echo out; echo err >&2; exit 3': { code: 3, stdout: 'out\n', stderr: 'err\n' },
  'kill -9 $$': { code: 0, stdout: '', stderr: '' },
  'head -c 100000 /dev/zero | tr "\\0" x': { code: 0, stdout: 'x'.repeat(100_000), stderr: '' },
  'head -c 300000 /dev/zero | tr "\\0" x': { code: 0, stdout: 'x'.repeat(300_000), stderr: '' },
};
