/**
 * The first process of deploy/cnf-image, in namespaces of its own: the files that netifd and mwan3
 * will read.
 */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { readUci } from '../../openwrt/checks/uci.ts';

const INIT = path.resolve(import.meta.dirname, '../../../deploy/cnf-image/files/usr/sbin/cnf-init');

/** Names of the other ends cannot be names in UCI. */
const LINKS = ['eth0', 'lan', 'wan1', 'wan2', 'wan6', 'both'];
const GATEWAYS = 'wan2=192.0.2.65 wan6=2001:db8::1 both=2001:db8:1::1 both=192.0.2.129';

/** OpenWRT's init, which it becomes at the end, does nothing here. */
const POD = `mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /etc && mkdir /etc/config /etc/init.d && touch /etc/init.d/mwan3
mount -t tmpfs tmpfs /mnt && mkdir /mnt/over /mnt/work
printf '#!/bin/sh\\n' >/mnt/over/init && chmod +x /mnt/over/init
mount -t overlay -o lowerdir=/sbin,upperdir=/mnt/over,workdir=/mnt/work overlay /sbin
for link in ${LINKS.join(' ')}; do
  ip link add $link type veth peer name $link-peer && ip link set $link up && ip link set $link-peer up
done
ip address add 192.0.2.2/26 dev wan1
ip address add 10.1.0.1/24 dev lan
ip route add default via 192.0.2.1 dev wan1
CNF_GATEWAYS='${GATEWAYS}' sh "$1"
cat /etc/config/$2`;

/** The interfaces in a file that it has written, by name. */
const interfacesIn = (file: string) => {
  const argv = ['--mount', '--net', 'sh', '-ec', POD, 'sh', INIT, file];
  const sections = readUci(execFileSync('unshare', argv, { encoding: 'utf8' }));
  expect(new Set(sections.map(({ type }) => type))).toEqual(new Set(['interface']));
  return Object.fromEntries(sections.map(({ name, options }) => [name, options]));
};

const interfaceOf = (family: string) => ({ enabled: '1', family, reliability: '1' });

describe('the first process of the image of a CNF', () => {
  it('tells netifd of all networks but that of Kubernetes, with their addresses and gateways', () => {
    const told = interfacesIn('network');
    expect(Object.keys(told).sort()).toEqual(LINKS.filter((link) => link !== 'eth0').sort());
    expect(told).toMatchObject({
      lan: { ipaddr: ['10.1.0.1/24'] },
      wan1: { ipaddr: ['192.0.2.2/26'], gateway: '192.0.2.1' },
      wan2: { gateway: '192.0.2.65' },
      wan6: { ip6gw: '2001:db8::1' },
      both: { gateway: '192.0.2.129', ip6gw: '2001:db8:1::1' },
    });
  });

  it('tells mwan3 of those alone that have a gateway, in the family that this is of', () => {
    expect(interfacesIn('mwan3')).toEqual({
      wan1: interfaceOf('ipv4'),
      wan2: interfaceOf('ipv4'),
      wan6: interfaceOf('ipv6'),
      both: interfaceOf('ipv4'),
    });
  });
});
