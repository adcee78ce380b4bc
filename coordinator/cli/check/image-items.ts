/**
 * Whether an OpenWRT has what the agent and the rules need, by its files alone. Pure. The list
 * follows docs/drivers.md; names of packages are those of OpenWRT's feeds.
 */
import { UciSyntaxError, parsePackage } from '#shared/uci/parse.ts';
import type { UciPackage } from '#shared/uci/model.ts';
import { bad, good, unknown } from './states.ts';
import type { Item } from './view.ts';

export type ImageFiles = {
  /** Absolute, without a slash at the end. */
  paths: ReadonlySet<string>;
  /** Contents of `READ_FILES`, as far as they are there. */
  texts: ReadonlyMap<string, string>;
};

const NETWORK = '/etc/config/network';
const FIREWALL = '/etc/config/firewall';
/** Tells firewall4 from firewall3, whose program firewall4 has by name, too. */
const FIREWALL_SERVICE = '/etc/init.d/firewall';
/** Which settings OpenWRT's first steps have: its own file, and that of deploy/cnf-image. */
const PREINIT_SETTINGS = ['/lib/preinit/00_preinit.conf', '/lib/preinit/01_cnf'];
export const READ_FILES: readonly string[] = [
  NETWORK,
  FIREWALL,
  FIREWALL_SERVICE,
  ...PREINIT_SETTINGS,
];

/** One of `files` has to be there; a name without a slash is that of a program. */
type Part = {
  what: string;
  files: readonly string[];
  without: string;
  install: string;
  /** One of them has to be started by /etc/rc.d when OpenWRT starts. */
  services?: readonly string[];
  /** The part is needed beside this file alone. */
  beside?: string;
};

const PARTS: readonly Part[] = [
  {
    what: 'procd, the first process',
    files: ['procd'],
    without: 'no service of OpenWRT starts',
    install: 'Start from a root file system of OpenWRT.',
  },
  {
    what: 'rpcd',
    files: ['rpcd'],
    without: 'the agent cannot log in',
    install: 'Install rpcd.',
    services: ['rpcd'],
  },
  {
    what: 'rights of those who are not logged in',
    files: ['/usr/share/rpcd/acl.d/unauthenticated.json'],
    without: 'rpcd lets no login begin',
    install: 'Install rpcd, which brings unauthenticated.json.',
  },
  {
    what: 'files over ubus',
    files: ['/usr/lib/rpcd/file.so'],
    without:
      'the agent cannot have a login of its own: it writes in many steps, and cannot read back what is in force',
    install: 'Install rpcd-mod-file.',
  },
  {
    what: 'uhttpd',
    files: ['uhttpd'],
    without: 'the agent reaches no OpenWRT',
    install: 'Install uhttpd.',
    services: ['uhttpd'],
  },
  {
    what: 'ubus over HTTP',
    files: ['/usr/lib/uhttpd_ubus.so', '/lib/uhttpd_ubus.so'],
    without: 'the agent reaches no ubus',
    install: 'Install uhttpd-mod-ubus.',
  },
  {
    what: 'netifd',
    files: ['netifd'],
    without: 'no interface is configured, and CNFRoute and CNFRouteRule are not in force',
    install: 'Install netifd.',
    services: ['network'],
  },
  {
    what: 'ip',
    files: ['ip', '/usr/libexec/ip-full', '/usr/libexec/ip-tiny'],
    without: 'the agent cannot read routes back',
    install: 'Install ip-full.',
  },
  ...['dd', 'md5sum', 'flock', 'awk'].map((name) => ({
    what: name,
    files: [name],
    without: 'the agent cannot read back what is in force',
    install: `Have BusyBox bring ${name}.`,
  })),
  {
    what: 'mwan3',
    files: ['mwan3'],
    without: 'Mwan3Policy and Mwan3Rule are not in force',
    install: 'Install mwan3, if you write such rules.',
    services: ['mwan3'],
  },
  {
    what: "mwan3's status over ubus",
    files: ['/usr/libexec/rpcd/mwan3', '/usr/share/rpcd/ucode/mwan3'],
    without: 'CNFStatus has no uplinks',
    install: 'Install mwan3 as OpenWRT packages it.',
  },
  {
    // mwan3 2.12 and later answers by a script that rpcd runs with ucode.
    what: 'ucode over ubus',
    files: ['/usr/lib/rpcd/ucode.so'],
    without: "mwan3's status is not answered",
    install: 'Install rpcd-mod-ucode.',
    beside: '/usr/share/rpcd/ucode/mwan3',
  },
  {
    what: 'strongSwan',
    files: ['swanctl', 'ipsec'],
    without: 'IpsecProposal, IpsecHost and IpsecSite are not in force',
    install: 'Install strongswan-default, if you write such rules.',
    services: ['swanctl', 'ipsec'],
  },
  {
    what: 'keepalived',
    files: ['keepalived'],
    without: 'VirtualAddress is not in force',
    install: 'Install keepalived, if you write such rules.',
    services: ['keepalived'],
  },
];

const PROGRAM_FOLDERS = ['/sbin', '/usr/sbin', '/bin', '/usr/bin'] as const;

const firewallOf = ({ texts }: ImageFiles): Part => ({
  what: 'the firewall',
  files: [/\bfw3\b/.test(texts.get(FIREWALL_SERVICE) ?? '') ? 'fw3' : 'fw4'],
  without: 'no rule of the firewall is in force',
  install: 'Install firewall4.',
  services: ['firewall'],
});

export const imageItems = (image: ImageFiles): Item[] => [
  ...[...PARTS, firewallOf(image)]
    .filter(({ beside }) => beside === undefined || image.paths.has(beside))
    .map((part) => partItem(image, part)),
  networkItem(image),
  preinitItem(image),
  zoneItem(image),
];

const partItem = (image: ImageFiles, { what, files, without, install, services }: Part): Item => {
  if (!files.some((file) => isThere(image, file)))
    return bad(what, `it is not there: ${without}`, install);
  if (services === undefined || services.some((service) => isStarted(image, service)))
    return good(what);
  const service = services.find((name) => image.paths.has(`/etc/init.d/${name}`)) ?? services[0];
  return bad(
    what,
    'OpenWRT does not start it',
    `Run /etc/init.d/${service} enable where the image is built.`,
  );
};

const isThere = ({ paths }: ImageFiles, file: string): boolean =>
  file.startsWith('/')
    ? paths.has(file)
    : PROGRAM_FOLDERS.some((folder) => paths.has(`${folder}/${file}`));

/** As `/etc/init.d/NAME enable` leaves it. */
const isStarted = ({ paths }: ImageFiles, service: string): boolean =>
  paths.has(`/etc/init.d/${service}`) &&
  [...paths].some((path) => path.startsWith('/etc/rc.d/S') && path.slice(13) === service);

const networkItem = (image: ImageFiles): Item => {
  const what = 'eth0 is left to Kubernetes';
  const network = packageOf(image, NETWORK);
  if (network instanceof UciSyntaxError) return syntaxItem(NETWORK, network);
  if (network === undefined)
    return bad(
      what,
      `there is no ${NETWORK}: OpenWRT makes one at its first start, and gives eth0 to its lan`,
      'Add one with interface loopback alone, as deploy/cnf-image has it.',
    );
  const takes = network.sections.filter(
    ({ type, options }) =>
      ['interface', 'device'].includes(type) &&
      ['device', 'ifname', 'ports'].some((name) => wordsOf(options[name]).includes('eth0')),
  );
  return takes.length === 0
    ? good(what)
    : bad(
        what,
        `section ${takes.map(({ name }) => name).join(', ')} of ${NETWORK} has eth0: netifd removes the pod's address`,
        'Remove it where the image is built.',
      );
};

/** They configure the device of the lan that /etc/board.d names, and take it down at their end. */
const preinitItem = ({ paths, texts }: ImageFiles): Item => {
  const what = "OpenWRT's first steps leave eth0 alone";
  const isOff = PREINIT_SETTINGS.some((file) =>
    /^\s*pi_preinit_no_failsafe=["']?y/m.test(texts.get(file) ?? ''),
  );
  const hasBoard = [...paths].some((path) => path.startsWith('/etc/board.d/'));
  return isOff || !hasBoard || !paths.has('/lib/preinit/10_indicate_preinit')
    ? good(what)
    : bad(
        what,
        'they take down the device of the lan that /etc/board.d names, eth0 as a rule',
        'Add /lib/preinit/01_cnf as deploy/cnf-image has it.',
      );
};

const zoneItem = (image: ImageFiles): Item => {
  const what = "the firewall lets Kubernetes' probes in";
  const firewall = packageOf(image, FIREWALL);
  if (firewall instanceof UciSyntaxError) return syntaxItem(FIREWALL, firewall);
  if (firewall === undefined) return unknown(what, `there is no ${FIREWALL}`);
  const { sections } = firewall;
  const accepts = (type: string): boolean =>
    sections.some(
      (section) =>
        section.type === type &&
        (type === 'defaults' || wordsOf(section.options['device']).includes('eth0')) &&
        wordsOf(section.options['input']).includes('ACCEPT'),
    );
  return accepts('zone') || accepts('defaults')
    ? good(what)
    : bad(
        what,
        'no zone accepts what comes in by eth0, so the pod never becomes ready',
        "Add a zone with list device 'eth0' and option input 'ACCEPT', as deploy/cnf-image has it.",
      );
};

const packageOf = (
  { texts }: ImageFiles,
  path: string,
): UciPackage | UciSyntaxError | undefined => {
  const text = texts.get(path);
  if (text === undefined) return undefined;
  try {
    return parsePackage(path.slice(path.lastIndexOf('/') + 1), text);
  } catch (error) {
    if (error instanceof UciSyntaxError) return error;
    throw error;
  }
};

const syntaxItem = (path: string, { message }: UciSyntaxError): Item =>
  bad(path, `OpenWRT cannot load it: ${message}`, 'Correct it.');

const wordsOf = (value: string | readonly string[] | undefined): string[] =>
  [value ?? []].flat().flatMap((word) => word.split(/\s+/));
