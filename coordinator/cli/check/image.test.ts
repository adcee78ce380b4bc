/** `sdewan check --image`: of files as an image has them, with each part taken out in turn. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path, { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readImage } from './image.ts';
import { imageItems } from './image-items.ts';

const OURS = path.resolve(import.meta.dirname, '../../../deploy/cnf-image/files');
const CONFIGURED = [
  '/etc/config/network',
  '/etc/config/firewall',
  '/etc/config/mwan3',
  '/lib/preinit/01_cnf',
];
const FILES = [
  ...['procd', 'rpcd', 'netifd', 'fw4', 'ip', 'ubusd'].map((name) => `/sbin/${name}`),
  ...['uhttpd', 'mwan3', 'swanctl', 'keepalived'].map((name) => `/usr/sbin/${name}`),
  ...['dd', 'md5sum', 'flock', 'awk'].map((name) => `/usr/bin/${name}`),
  '/usr/lib/rpcd/file.so',
  '/usr/lib/rpcd/ucode.so',
  '/usr/lib/uhttpd_ubus.so',
  '/usr/share/rpcd/acl.d/unauthenticated.json',
  '/usr/share/rpcd/ucode/mwan3',
  '/lib/preinit/10_indicate_preinit',
  '/etc/board.d/99-default_network',
];
const SERVICES = {
  S12rpcd: 'rpcd',
  S19firewall: 'firewall',
  S19mwan3: 'mwan3',
  S20network: 'network',
  S50keepalived: 'keepalived',
  S50uhttpd: 'uhttpd',
  S90swanctl: 'swanctl',
};

let root: string;

const write = (file: string, text = ''): void => {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
};
const take = (file: string): void => rmSync(join(root, file));

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sdewan-image-'));
  for (const file of FILES) write(file);
  for (const [link, service] of Object.entries(SERVICES)) {
    write(`/etc/init.d/${service}`);
    mkdirSync(join(root, 'etc/rc.d'), { recursive: true });
    symlinkSync(`../init.d/${service}`, join(root, 'etc/rc.d', link));
  }
  for (const file of CONFIGURED) write(file, readFileSync(join(OURS, file), 'utf8'));
});
afterEach(() => rmSync(root, { recursive: true }));

const signal = new AbortController().signal;
const wrong = async (where = root): Promise<string[]> =>
  imageItems(await readImage(where, signal))
    .filter(({ state }) => state !== 'Good')
    .map(({ what, cause, cure }) => `${what}: ${cause} ${cure}`);

describe('an image', () => {
  it('has all that is needed, with the configuration of deploy/cnf-image', async () => {
    expect(await wrong()).toEqual([]);
  });

  it.each([
    ['/sbin/procd', 'procd', 'root file system of OpenWRT'],
    ['/sbin/rpcd', 'rpcd', 'Install rpcd.'],
    ['/usr/share/rpcd/acl.d/unauthenticated.json', 'not logged in', 'Install rpcd'],
    ['/usr/lib/rpcd/file.so', 'files over ubus', 'Install rpcd-mod-file.'],
    ['/usr/lib/rpcd/ucode.so', 'ucode over ubus', 'Install rpcd-mod-ucode.'],
    ['/usr/sbin/uhttpd', 'uhttpd', 'Install uhttpd.'],
    ['/usr/lib/uhttpd_ubus.so', 'ubus over HTTP', 'Install uhttpd-mod-ubus.'],
    ['/sbin/netifd', 'netifd', 'Install netifd.'],
    ['/sbin/fw4', 'the firewall', 'Install firewall4.'],
    ['/sbin/ip', 'ip', 'Install ip-full.'],
    ['/usr/bin/flock', 'flock', 'BusyBox'],
    ['/usr/sbin/mwan3', 'mwan3', 'Install mwan3'],
    ['/usr/share/rpcd/ucode/mwan3', "mwan3's status", 'Install mwan3'],
    ['/usr/sbin/swanctl', 'strongSwan', 'Install strongswan-default'],
    ['/usr/sbin/keepalived', 'keepalived', 'Install keepalived'],
    ['/etc/config/network', 'eth0', 'interface loopback alone'],
    ['/lib/preinit/01_cnf', 'first steps', 'Add /lib/preinit/01_cnf'],
    ['/etc/rc.d/S12rpcd', 'rpcd', '/etc/init.d/rpcd enable'],
    ['/etc/rc.d/S90swanctl', 'strongSwan', '/etc/init.d/swanctl enable'],
    ['/etc/init.d/swanctl', 'strongSwan', '/etc/init.d/swanctl enable'],
  ])('lacks %s, which one line names with its cure', async (file, what, cure) => {
    take(file);
    const [line, ...others] = await wrong();
    expect(others).toEqual([]);
    expect(line).toContain(what);
    expect(line).toContain(cure);
  });

  it('gives eth0 to netifd, or lets no probe in', async () => {
    write('/etc/config/network', "config interface 'lan'\n\toption device 'eth0'\n");
    write('/etc/config/firewall', "config defaults\n\toption input 'REJECT'\n");
    expect(await wrong()).toEqual([
      expect.stringContaining('section lan of /etc/config/network has eth0'),
      expect.stringContaining('no zone accepts what comes in by eth0'),
    ]);
  });

  it('has a configuration that OpenWRT cannot load', async () => {
    write('/etc/config/network', "config interface 'lan\n");
    expect(await wrong()).toEqual([expect.stringContaining('cannot load it: line 1')]);
  });
});

describe('a tar', () => {
  it.each(['-cf', '-czf'])(
    'is read as the folder is that it was made of (tar %s)',
    async (flag) => {
      const file = join(root, 'rootfs.tar');
      execFileSync('tar', [flag, file, '-C', root, './etc', './lib', './sbin', './usr']);
      expect(await wrong(file)).toEqual([]);
      take('/usr/lib/rpcd/file.so');
      execFileSync('tar', [flag, file, '-C', root, './etc', './lib', './sbin', './usr']);
      expect(await wrong(file)).toEqual([expect.stringContaining('Install rpcd-mod-file.')]);
    },
  );

  it('is refused by name when it is none, or is not there', async () => {
    write('/no.tar', 'no tar '.repeat(200));
    await expect(readImage(join(root, 'no.tar'), signal)).rejects.toThrow(/no\.tar: no tar/);
    await expect(readImage(join(root, 'none'), signal)).rejects.toThrow(
      /none: there is no such file/,
    );
  });
});
