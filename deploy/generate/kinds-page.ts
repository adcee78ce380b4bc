/** The reference page of all kinds, for operators: what `kubectl explain` says, in one place. */
import { EXAMPLES, WHOLE } from './kinds-examples.ts';
import { tableOf } from './markdown.ts';
import { isRule, type KindDefinition } from '#shared/resources/kind.ts';
import { specSchemaOf, textOf, type Schema } from './crd.ts';

/** Most are in one API group, whose name need not be said again. */
export const kindsPage = (kinds: readonly KindDefinition[]): string => {
  const usual = apiVersionOf(kinds[0]);
  const coordinators = kinds.filter((kind) => kind.isCoordinatorsAlone);
  const written = kinds.filter((kind) => !kind.isCoordinatorsAlone);
  return [
    '# Kinds of rules',
    '',
    'The fields of each kind, for operators: what they mean, and what they can be. `kubectl explain <kind>.spec` shows the same texts, and `kubectl get sdewan` lists the rules of all kinds.',
    '',
    `Where nothing else is said, a kind is in the API group \`${usual}\`, is namespaced, and its objects belong to the CNF of their namespace that their label`,
    '`sdewanPurpose` names. Field names are those of ICN. Where ICN has a string of digits, a number is accepted too; blank text is the same as an',
    'absent field. Numbers have no leading zeros, and masks no gaps. This is a whole rule; the examples below show `spec`:',
    '',
    '```yaml',
    `apiVersion: ${usual}`,
    'kind: FirewallForwarding',
    'metadata: { name: out, namespace: edge, labels: { sdewanPurpose: cnf-1 } }',
    'spec: { src: branch, dest: uplink }',
    '```',
    '',
    'ClusterRole `sdewan-viewer` reads all that hold no keys. To write them takes a role of yours, and for rules with label `sdewan-bucket-type` a right to that [bucket](admission.md#buckets).',
    '',
    ...written.map(
      ({ kind, description }) => `- [${kind}](#${kind.toLowerCase()}): ${description}`,
    ),
    '- [Kinds that the coordinator alone writes](#kinds-that-the-coordinator-alone-writes)',
    '',
    ...NETWORKS,
    '',
    ...PACKAGES,
    '',
    ...ORDER,
    '',
    ...VALUES,
    '',
    ...written.flatMap((kind, at) => kindSection(kind, usual, written.slice(0, at))),
    '## Kinds that the coordinator alone writes',
    '',
    'No agent reads them as rules. `kubectl explain <plural>` has their fields.',
    '',
    tableOf(
      ['kind', '`kubectl get`', 'API group', 'scope', 'what it is'],
      coordinators.map((kind) => [
        kind.kind,
        `\`${namesOf(kind).join('`, `')}\``,
        kind.group,
        kind.scope,
        kind.description.replace(WRITTEN_BY, ''),
      ]),
    ),
    '',
  ].join('\n');
};

/** Its heading says so. */
const WRITTEN_BY = / Written by the coordinator alone\.$/;

const NETWORKS = [
  '## Networks',
  '',
  'A rule names a network as the CNF pod is attached to it: by annotation `k8s.plugin.opnfv.org/nfn-network` of Nodus, with the name that this gives it, or by Multus (`k8s.v1.cni.cncf.io/networks`, as text or',
  'JSON), as `namespace/name` of the attachment, or `name` in the namespace of the pod. An attachment that the pod has twice is `name@interface`. A name that is one of Nodus and of Multus is refused: write `namespace/name`.',
  '',
  'The interface is the one that `network-status` of Multus names or, before that is written, the one that the selection asks for. Multus writes it when the pod starts, and the kubelet takes up to a minute more to pass it on; until then a rule is `WaitingForNetwork`.',
];

/** Names of OpenWRT's feeds, as in deploy/cnf-image/Dockerfile. */
const PACKAGES = [
  '## Packages of OpenWRT',
  '',
  'What to install with `apk` or `opkg`; `sdewan check --image` says what an image lacks. The UCI package of a kind below is a file in `/etc/config`.',
  '',
  tableOf(
    ['kinds', 'packages'],
    [
      ['all', 'rpcd, rpcd-mod-file, uhttpd, uhttpd-mod-ubus, ip-full'],
      ['firewall, NAT and services', 'firewall4'],
      ['policies and rules of mwan3', 'mwan3; from mwan3 2.12 on rpcd-mod-ucode'],
      [
        'IPsec',
        'strongswan-default, and for more algorithms strongswan-mod-openssl, -kdf, -gcm, -chapoly, -curve25519',
      ],
      ['virtual addresses', 'keepalived'],
      ['routes', 'none more: netifd is in every image'],
    ],
  ),
];

const ORDER = [
  '## Order',
  '',
  'OpenWRT asks the rules of a kind one after the other, and the first that a packet matches decides: FirewallRules, translations (FirewallDNAT, FirewallSNAT,',
  'CNFNAT), Mwan3Rules. A Mwan3Rule for all packets leaves nothing to those behind it, and of two FirewallDNATs of one port the second never gets a packet. The',
  "administrator's own sections come first. Ours follow by annotation `sdewan.akraino.org/order`, a whole number, lower ones first, 0 where there is none; then by age, older ones",
  'first; rules of the same second, as those of one file usually are, by kind and by name. So give the rule for all packets a higher number:',
  '`kubectl annotate mwan3rule default-rule sdewan.akraino.org/order=100`.',
  '',
  '`kubectl apply` warns of a FirewallRule, FirewallForwarding, FirewallDNAT or Mwan3Rule to which no packet comes; [`sdewan check`](cli.md#check) names those that are there, and',
  '[`sdewan rules`](cli.md#rules) lists all in their order.',
];

const NEGATED = 'each with "!" in front to negate it';
const PROTOCOLS =
  'protocols (tcp, udp, tcpudp, udplite, icmp, icmpv6, ipv6-icmp, esp, ah, sctp, gre, igmp, all, any) or their numbers without leading zeros';
const MARK = 'a mark such as 0x10 or 16, with a mask as in 0x10/0xff';

/** What many fields can be, by the words that stand for it in their tables. */
export const SHORT_FORMS: ReadonlyMap<string, string> = new Map([
  ['must not have control characters', 'any text'],
  ['a host name such as api.example.com, or an IP address', 'a host'],
  ['an IPv4 or IPv6 address without a mask, such as 192.168.1.1', 'an address'],
  ['an IPv4 or IPv6 address, or a network such as 192.168.1.0/24 or 2001:db8::/32', 'a network'],
  [
    'an IPv4 or IPv6 address or a network such as 192.168.1.0/24, with "!" in front to negate it',
    'a network, or !network',
  ],
  [
    `IPv4 or IPv6 addresses or networks such as 192.168.1.0/24, separated by blanks, ${NEGATED}`,
    'networks, or !networks',
  ],
  [`MAC addresses such as 00:11:22:aa:bb:cc, separated by blanks, ${NEGATED}`, 'MACs, or !MACs'],
  [
    'a port from 1 to 65535 or a range such as 8000-8100, with "!" in front to negate it; for example `443`, `!8000-8100`',
    'a port or range, or !port',
  ],
  [
    `ports from 1 to 65535 or ranges such as 8000-8100, separated by blanks, ${NEGATED}; for example \`443\`, \`80 8000-8100\`, \`!22\``,
    'ports, or !ports',
  ],
  [
    `${PROTOCOLS}, separated by blanks, ${NEGATED}; for example \`tcp udp\`, \`47\``,
    'protocols, or !protocols',
  ],
  [`${MARK}; for example \`0x10/0xff\`, \`16\``, 'a mark'],
  [`${MARK}, and "!" in front to negate it; for example \`0x10/0xff\`, \`16\``, 'a mark, or !mark'],
  [
    'a network device such as eth0, #default (that of the default route) or # and an address (that which has it)',
    'a device',
  ],
]);

const VALUES = [
  '## Values',
  '',
  'Words of the tables below that stand for more:',
  '',
  tableOf(
    ['in a table', 'it can be'],
    [...SHORT_FORMS].map(([long, short]) => [short, long]),
  ),
];

const apiVersionOf = (kind: KindDefinition | undefined): string =>
  kind ? `${kind.group}/${kind.version}` : '';

/** `before`: the kinds that stand above it. */
const kindSection = (
  kind: KindDefinition,
  usual: string,
  before: readonly KindDefinition[],
): string[] => {
  const example = EXAMPLES[kind.kind];
  return [
    `## ${kind.kind}`,
    '',
    `\`kubectl get ${namesOf(kind).join('` or `')}\`.${placeOf(kind, usual)}${whereIn(kind)}`,
    '',
    ...(example === undefined
      ? (WHOLE[kind.kind] ?? [])
      : ['```yaml', `spec:${example.startsWith('\n') ? '' : ' '}${example}`, '```', '']),
    ...bullets(kind),
    ...fieldsOf(kind, before),
    '',
  ];
};

const fieldsOf = (kind: KindDefinition, before: readonly KindDefinition[]): string[] => {
  const rows = rowsOf(specSchemaOf(kind), '');
  if (rows.length === 0) return ['It has no fields to fill in.'];
  for (const other of before) {
    const theirs = rowsOf(specSchemaOf(other), '');
    const [own, lacking] = [without(rows, theirs), without(theirs, rows)];
    const link = `[${other.kind}](#${other.kind.toLowerCase()})`;
    if (own.length + lacking.length <= MOST_DIFFERENCES)
      return [`Its fields are those of ${link}, but for ${namesIn(lacking)}, and:`, '', table(own)];
    if (own.length <= rows.length * LARGEST_OWN_SHARE)
      return [
        `Its fields ${namesIn(without(rows, own))} are those of ${link}. The others:`,
        '',
        table(own),
      ];
  }
  return [table(rows)];
};

/** Two kinds of more are not called alike. */
const MOST_DIFFERENCES = 2;
/** Readers want all rows in one table where a kind has more of its own. */
const LARGEST_OWN_SHARE = 0.3;

const namesIn = (rows: readonly string[][]): string => rows.map(([name]) => name).join(', ');

const without = (rows: readonly string[][], others: readonly string[][]): string[][] => {
  const known = new Set(others.map((row) => JSON.stringify(row)));
  return rows.filter((row) => !known.has(JSON.stringify(row)));
};

const table = (rows: readonly string[][]): string =>
  tableOf(['Field', 'Type', 'What it is', 'What it can be'], rows);

const namesOf = ({ plural, shortNames }: KindDefinition): string[] => [plural, ...shortNames];

const placeOf = (kind: KindDefinition, usual: string): string => {
  const group = apiVersionOf(kind) === usual ? '' : ` API group \`${apiVersionOf(kind)}\`.`;
  return kind.scope === 'Cluster' ? `${group} One for the whole cluster.` : group;
};

const whereIn = (kind: KindDefinition): string => {
  const { uci, generates, holdsKeys, secrets } = kind;
  if (!isRule(kind)) return ' No rule: no agent reads it.';
  if (generates) return ' See [services](services.md).';
  if (!uci) return '';
  const keys = holdsKeys
    ? ` It may hold keys: agents read it where [the CNF has a service account of its own](security.md#rights)${secrets ? ', and its Secret with [a Role of yours](drivers.md#keys-from-a-secret)' : ''}.`
    : '';
  const names =
    uci.ownership === 'prefix' ? `sections \`${uci.sectionPrefix}…\`` : 'under its own name';
  return ` On OpenWRT: UCI package \`${uci.package}\`, ${names}.${keys}`;
};

const bullets = ({ nameRules = [], specRules = [] }: KindDefinition): string[] => {
  const lines = [
    ...nameRules.map(({ message }) => `- ${message}.`),
    ...specRules.map(({ path, message }) => `- \`${path.replace(/^spec\./, '')}\`: ${message}.`),
  ];
  return lines.length === 0 ? [] : [...lines, ''];
};

const rowsOf = ({ properties = {}, required = [] }: Schema, prefix: string): string[][] =>
  Object.entries(properties).flatMap(([name, field]) => [
    rowOf(`${prefix}${name}`, field, required.includes(name)),
    ...rowsOf(field, `${prefix}${name}.`),
    ...(field.items ? rowsOf(field.items, `${prefix}${name}[].`) : []),
  ]);

const rowOf = (name: string, field: Schema, isRequired: boolean): string[] => [
  `\`${name}\`${isRequired ? ' (required)' : ''}`,
  typeOf(field),
  field.description ?? '',
  [
    shortened(constraintOf(field.items ?? field)),
    ...(field.default === undefined ? [] : [`default \`${textOf(field.default)}\``]),
  ]
    .filter((part) => part !== '')
    .join('; '),
];

const shortened = (text: string): string => SHORT_FORMS.get(text) ?? text;

/** Above all tables. */
const SAID_ONCE = /, without leading zeros|; a mask has no gaps/g;

/** They need no example. */
const PLAIN_NUMBER = /^((a port|a whole number) from \d+ to \d+|0 or 1)$/;

const typeOf = (field: Schema): string => {
  if (field['x-kubernetes-int-or-string']) return 'text or number';
  if (field.type === 'array') return `list of ${field.items ? typeOf(field.items) : ''}`;
  return field.type === 'string' ? 'text' : (field.type ?? '');
};

const constraintOf = (field: Schema): string => {
  if (field.enum) return field.enum.filter((word) => word !== '').join(', ');
  const rules = field['x-kubernetes-validations'] ?? [];
  if (rules.length > 0) {
    const examples = field['x-examples']?.map((example) => `\`${example}\``).join(', ');
    const forms = rules
      .map(({ message }) => message.replace(/^must be /, '').replace(SAID_ONCE, ''))
      .join('; ');
    return examples === undefined || PLAIN_NUMBER.test(forms)
      ? forms
      : `${forms}; for example ${examples}`;
  }
  if (field.minimum !== undefined || field.maximum !== undefined) {
    return `${field.minimum ?? ''} to ${field.maximum ?? ''}`;
  }
  return '';
};
