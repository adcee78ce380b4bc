/**
 * What the thief of the agent's login on OpenWRT tries: one call of rpcd each. `SESSION` stands for
 * the id of his session, which names the file that he may stage changes of a package in.
 */
import { KERNEL_HELPER_PATH } from '#shared/inject/own-login-files.ts';

export const SESSION = 'SESSION';
/** Where whole packages lie while they are imported. */
export const SCRIPT = '/tmp/sdewan-firewall';
const STAGED = `/var/run/rpcd/uci-${SESSION}`;

export type Way = readonly [
  object: string,
  method: string,
  args: Readonly<Record<string, unknown>>,
];

const run = (command: string, ...params: string[]): Way => ['file', 'exec', { command, params }];
const read = (path: string): Way => ['file', 'read', { path }];
const write = (path: string): Way => ['file', 'write', { path, data: '\n' }];
const add = (config: string, type: string, values = {}): Way => [
  'uci',
  'add',
  { config, type, values },
];
const dd = (...words: string[]): Way => run('/bin/dd', ...words, 'bs=131072', 'count=1', 'skip=0');

export const REFUSED: Readonly<Record<string, Way>> = {
  'read the hashes of passwords': read('/etc/shadow'),
  'read them by a path through a package': read('/etc/config/firewall/../../shadow'),
  'read them as blocks': dd('if=/etc/shadow'),
  'read the logins of rpcd': read('/etc/config/rpcd'),
  'read them by UCI': ['uci', 'get', { config: 'rpcd' }],
  'read the key of uhttpd': read('/etc/uhttpd.key'),
  'list a folder of others': ['file', 'list', { path: '/etc' }],
  'look at a file of others': ['file', 'stat', { path: '/etc/shadow' }],
  'add a login to rpcd': add('rpcd', 'login', { username: 'thief' }),
  'add a login by a file of staged changes': write(`${STAGED}/rpcd`),
  'add a login by such a path': write(`${STAGED}/firewall/../rpcd`),
  'change how OpenWRT starts': add('system', 'system'),
  'have dropbear listen': add('dropbear', 'dropbear'),
  'have uhttpd run a program': add('uhttpd', 'uhttpd', { lua_handler: '/tmp/x' }),
  'write a package past UCI': write('/etc/config/firewall'),
  'give itself more rights': write('/usr/share/rpcd/acl.d/sdewan-agent.json'),
  'write a script that is run at a reload': write('/etc/init.d/firewall'),
  'write it by a path that begins as its own': write(
    '/var/run/rpcd/uci-x/../../../../etc/init.d/firewall',
  ),
  'write the program of the agent': write(KERNEL_HELPER_PATH),
  'write a table of cron': write('/etc/crontabs/root'),
  'write a script for events of the kernel': write('/etc/hotplug.d/iface/99-thief'),
  'write a plugin of rpcd': write('/usr/libexec/rpcd/thief'),
  'write rules that fw4 always includes': write('/usr/share/nftables.d/table-pre/thief.nft'),
  'write a certificate of others': write('/etc/swanctl/x509/hub.pem'),
  'remove a package': ['file', 'remove', { path: '/etc/config/network' }],
  'run a shell': run('/bin/sh', '-c', 'id'),
  'run a script that it has written': run(SCRIPT),
  'read a block and write it elsewhere': dd('if=/etc/config/firewall', 'of=/etc/shadow'),
  'reload with an environment of its own': [
    'file',
    'exec',
    { command: '/sbin/fw4', params: ['reload'], env: { PATH: '/tmp' } },
  ],
  'stop the firewall': run('/sbin/fw4', 'stop'),
  'restart rpcd': run('/etc/init.d/rpcd', 'restart'),
  'import a package of others': run('/sbin/uci', '-f', SCRIPT, 'import', 'rpcd'),
  'import to another folder': run('/sbin/uci', '-c', '/tmp', '-f', SCRIPT, 'import', 'firewall'),
  'have the program of the agent do something else': run(KERNEL_HELPER_PATH, 'state; id'),
  'give its session more rights': [
    'session',
    'grant',
    { scope: 'uci', objects: [['rpcd', 'write']] },
  ],
  'see the sessions of others': ['session', 'list', {}],
  'have procd start a program': [
    'service',
    'add',
    { name: 'thief', instances: { one: { command: ['/bin/true'] } } },
  ],
  'restart OpenWRT': ['system', 'reboot', {}],
};

/** What the agent itself has to do, and so what a thief can. */
export const POSSIBLE: Readonly<Record<string, Way>> = {
  'read the rules and keys of the CNF': read('/etc/config/ipsec'),
  'let everything in': add('firewall', 'rule', { src: '*', target: 'ACCEPT' }),
  'lead packets elsewhere': add('network', 'route', { target: '0.0.0.0/0', interface: 'lan' }),
  'have strongSwan run any command when a connection comes up': add('ipsec', 'tunnel', {
    updown: 'id >/tmp/thief',
  }),
  'have keepalived run any program again and again': add('keepalived', 'vrrp_script', {
    script: '/tmp/sdewan-firewall',
    interval: '1',
  }),
  'replace a private key of the agent': write('/etc/swanctl/private/sdewan-0.pem'),
  'leave a file that a shell can read': write(`${STAGED}/firewall`),
};
