/** What IpsecHost and IpsecSite share: a `remote` section with sections for its connections. */
import { alike, given, is, not, present, specRule, unique, when } from '../conditions.ts';
import type { UciSection } from '../../uci/model.ts';
import { uciName } from '../../uci/names.ts';
import type { IpsecService } from '../capabilities.ts';
import { withPrefixes } from '../fields.ts';
import {
  certificateFiles,
  certificateLacks,
  certificateSecrets,
  classicCertificates,
  swanctlCertificates,
  wrongKey,
  type Certificates,
} from './ipsec-certificates.ts';
import { KEY_MUST, VTI_BASED, isPreSharedKey } from './ipsec-remote-fields.ts';
import { clashingKeys, keySharings } from './ipsec-keys.ts';
import { icnResource, inNameSpace, objectText, textsIn, unsupported } from '../icn.ts';
import type { Claim, IcnSections, Lack, Reference, RenderContext, SecretUse } from '../kind.ts';
import type { SpecRule } from '../resource.ts';
import { NO, listOf, ruleResource, section } from '../render.ts';

type Connection = {
  name: string;
  conn_type: 'tunnel' | 'transport';
  mode: 'start' | 'add' | 'route';
  crypto_proposal?: string[] | undefined;
  local_subnet?: string | undefined;
  local_sourceip?: string | undefined;
  remote_subnet?: string | undefined;
  local_updown?: string | undefined;
  if_id?: string | undefined;
  mark?: string | undefined;
  remote_sourceip?: string | undefined;
  local_firewall?: string | undefined;
  remote_firewall?: string | undefined;
  remote_updown?: string | undefined;
  [option: string]: string | string[] | undefined;
};

export type Remote = Certificates & {
  remote: string;
  type?: string | undefined;
  crypto_proposal: string[];
  force_crypto_proposal?: string | undefined;
  local_identifier?: string | undefined;
  remote_identifier?: string | undefined;
  pre_shared_key?: string | undefined;
  pre_shared_key_from?: { name: string; key: string } | undefined;
  connections: Connection[];
};

const IS_PSK = is('authentication_method', 'psk');
const IS_PUBKEY = is('authentication_method', 'pubkey');

const remoteRules: readonly SpecRule<Remote>[] = [
  specRule(
    'pre_shared_key',
    when(IS_PSK, not(alike(given('pre_shared_key'), present('pre_shared_key_from')))),
    'psk needs either pre_shared_key or pre_shared_key_from',
  ),
  specRule(
    'local_public_cert',
    when(IS_PUBKEY, given('local_public_cert')),
    'pubkey needs local_public_cert',
  ),
  specRule(
    'local_private_cert',
    when(IS_PUBKEY, not(alike(given('local_private_cert'), present('local_private_cert_from')))),
    'pubkey needs either local_private_cert or local_private_cert_from',
  ),
  specRule('connections', unique('connections', 'name'), 'the names of connections must be unique'),
];

const remoteReferences = ({ crypto_proposal, connections }: Remote): Reference[] => [
  ...proposals('spec.crypto_proposal', crypto_proposal),
  ...connections.flatMap((connection, index) =>
    proposals(`spec.connections[${index}].crypto_proposal`, connection.crypto_proposal),
  ),
];

const proposals = (path: string, names: readonly string[] | undefined): Reference[] =>
  (names ?? []).map((name, index) => ({ path: `${path}[${index}]`, kind: 'IpsecProposal', name }));

const remoteSecrets = (remote: Remote): SecretUse[] => {
  const { pre_shared_key_from: from } = remote;
  return [
    ...(from ? [{ path: 'spec.pre_shared_key_from', ...from }] : []),
    ...certificateSecrets(remote),
  ];
};

const remoteLacks = (remote: Remote, context: RenderContext): Lack[] => {
  const lacks = [...secretLacks(remote, context), ...certificateLacks(remote, context)];
  if (remote.type === VTI_BASED && !installsNoRoutes(context)) {
    lacks.push({
      path: 'spec.type',
      reason: 'WaitingForInterface',
      message: `${VTI_BASED} needs option rtinstall_enabled '0' in ${SETTINGS[context.capabilities.ipsec.settings]} of OpenWRT's package ipsec`,
    });
  }
  return lacks;
};

/** What OpenWRT's swanctl script does not read: the tunnel would be other than the rule says. */
const leftOutOfSwanctl = (
  { connections }: Remote,
  { capabilities }: Pick<RenderContext, 'capabilities'>,
): Lack[] => {
  if (capabilities.ipsec.dialect !== 'swanctl') return [];
  return connections.flatMap((connection, index) =>
    LEFT_OUT.filter(([field, none]) => !none.test(connection[field] ?? '')).map(
      ([field, , instead]): Lack => ({
        path: `spec.connections[${index}].${field}`,
        reason: 'UnsupportedByDriver',
        message: `swanctl of OpenWRT has no such option, so the rule is not in force there: remove the field, and ${instead}`,
      }),
    ),
  );
};

/** Field, what in it asks for nothing, and what there is instead. */
const LEFT_OUT = [
  ['mark', /^(0+(x0+)?)?$/i, 'use if_id and an XFRM interface'],
  ['remote_sourceip', /^$/, 'give the other side its address otherwise'],
  ['local_firewall', /^(no)?$/, 'make FirewallRules for its packets'],
] as const;

const ANYBODY = /^(%.*|0\.0\.0\.0|[0:]*:[0:]*|[\d.]+-[\d.]+|.*:.*-.*)$/;
/** What strongSwan decodes before it is used as a key. */
const DECODED = /^0[sx]/i;

const cautions = (remote: Remote): readonly string[] => [
  ...(remote.force_crypto_proposal === '1'
    ? [
        'spec.force_crypto_proposal: swanctl of OpenWRT has no such option, and takes no other algorithms than those of the proposals, whatever it is',
      ]
    : []),
  ...(DECODED.test(remote.pre_shared_key ?? '')
    ? [
        'spec.pre_shared_key: strongSwan decodes a key that begins with 0s (base64) or 0x (hexadecimal); the other side has to have the same bytes',
      ]
    : []),
  ...remote.connections.flatMap(({ mode, remote_firewall, remote_updown }, index) => [
    ...(ANYBODY.test(remote.remote) && mode !== 'add'
      ? [
          `spec.connections[${index}].mode: with remote ${remote.remote} there is no address to connect to, so ${mode} never brings the connection up; write add, and have the other side start it`,
        ]
      : []),
    ...(remote_firewall === 'yes' ? [otherSide(index, 'remote_firewall')] : []),
    ...(remote_updown === undefined ? [] : [otherSide(index, 'remote_updown')]),
  ]),
];

const otherSide = (index: number, field: string): string =>
  `spec.connections[${index}].${field}: swanctl of OpenWRT has no such option; it is for the other side to configure`;

/** They are names of sections, as those of rules are. */
const connectionNames = ({ connections }: Remote) =>
  connections.map(({ name }, index) => ({ path: `spec.connections[${index}].name`, name }));

const connectionClaims = (remote: Remote): Claim[] =>
  connectionNames(remote).map(({ path, name }) => ({
    path,
    key: `IPsec connection ${uciName(name)}`,
  }));

/**
 * In the order in which they are rendered: the remote, and behind it its connections. Of two that
 * have the name, the later is to change.
 */
const pathOfSection = (claim: string, sections: readonly UciSection[]): string | undefined => {
  const index = sections.findLastIndex(({ name }) => claim === `ipsec.${name}`);
  return index > 0 ? `spec.connections[${index - 1}].name` : undefined;
};

const secretLacks = (remote: Remote, context: RenderContext): Lack[] =>
  remote.pre_shared_key_from && !isPreSharedKey(keyOf(remote, context) ?? '')
    ? [wrongKey('spec.pre_shared_key_from', KEY_MUST)]
    : [];

const SETTINGS = {
  globals: 'the section globals (of type ipsec)',
  last: 'the section ipsec',
} as const satisfies Record<IpsecService['settings'], string>;

/** The option is one for all remotes, in a section that is the administrator's. */
const installsNoRoutes = ({ capabilities, observed }: RenderContext): boolean => {
  const settings = observed('ipsec').findLast(({ type, name }) =>
    capabilities.ipsec.settings === 'globals' ? name === 'globals' : type === 'ipsec',
  );
  return NO.has(settings?.options.rtinstall_enabled);
};

/** Secrets are often written with a newline at the end. */
const keyOf = (remote: Remote, { secretOf }: RenderContext): string | undefined => {
  const { pre_shared_key: inSpec, pre_shared_key_from: from } = remote;
  return from ? secretOf(from.name, from.key).replace(/\r?\n$/, '') : inSpec;
};

const renderRemote = (remote: Remote, context: RenderContext): UciSection[] => {
  const { uciNameOf, capabilities } = context;
  const names = (type: Connection['conn_type']) =>
    remote.connections
      .filter(({ conn_type }) => conn_type === type)
      .map(({ name }) => uciNameOf(name));
  const isSwanctl = capabilities.ipsec.dialect === 'swanctl';
  return [
    section('remote', context.sectionName, {
      type: isSwanctl ? undefined : remote.type,
      gateway: remote.remote,
      enabled: '1',
      authentication_method: remote.authentication_method,
      pre_shared_key: keyOf(remote, context),
      local_identifier: remote.local_identifier,
      remote_identifier: remote.remote_identifier,
      crypto_proposal: remote.crypto_proposal.map(uciNameOf),
      force_crypto_proposal: isSwanctl ? undefined : remote.force_crypto_proposal,
      tunnel: names('tunnel'),
      transport: names('transport'),
      ...(isSwanctl
        ? { ...swanctlRemote(remote, uciNameOf), ...swanctlCertificates(remote, context) }
        : classicCertificates(remote, context)),
    }),
    ...remote.connections.map((connection) =>
      isSwanctl
        ? swanctlConnection(connection, uciNameOf)
        : classicConnection(connection, uciNameOf),
    ),
  ];
};

/** ICN's REST makes a remote's connections for it alone, so those that it lists are its own. */
const icnRemote: IcnSections = {
  nameOf: ({ type, name }) => (type === 'remote' ? name : undefined),
  partsOf: ({ options }, there) =>
    there.filter(
      ({ type, name }) =>
        (type === 'tunnel' || type === 'transport') && listOf(options[type]).includes(name),
    ),
};

/**
 * What scripts from July 2026 on read, and in place of `vips` what they read before. Each takes no
 * notice of the other's.
 */
const swanctlRemote = ({ remote, connections }: Remote, uciNameOf: (name: string) => string) => {
  const vips = [
    ...new Set(
      connections.flatMap(({ local_sourceip: address }) => (address ? [vipOf(address)] : [])),
    ),
  ];
  return {
    remote_addrs: [remote],
    vips,
    local_sourceip: vips,
    child: connections.map(({ name }) => uciNameOf(name)),
  };
};

const vipOf = (address: string): string =>
  address === '%config6' ? '::' : address.startsWith('%config') ? '0.0.0.0' : address;

const classicConnection = (
  { name, conn_type, crypto_proposal, ...options }: Connection,
  uciNameOf: (name: string) => string,
): UciSection =>
  section(conn_type, uciNameOf(name), {
    ...options,
    local_subnet: joined(options.local_subnet),
    remote_subnet: joined(options.remote_subnet),
    crypto_proposal: crypto_proposal?.map(uciNameOf),
  });

const swanctlConnection = (
  { name, conn_type, mode, crypto_proposal, ...options }: Connection,
  uciNameOf: (name: string) => string,
): UciSection =>
  section(conn_type, uciNameOf(name), {
    mode: conn_type,
    startaction: mode,
    local_subnet: options.local_subnet && withPrefixes(options.local_subnet),
    remote_subnet: options.remote_subnet && withPrefixes(options.remote_subnet),
    updown: options.local_updown,
    if_id: options.if_id,
    crypto_proposal: crypto_proposal?.map(uciNameOf),
  });

const joined = (networks: string | undefined): string | undefined =>
  networks && withPrefixes(networks).join(',');

/** With any `type` the API sets options for all remotes; not VTI-based means what none means. */
const remoteResource = icnResource<Remote>({
  collection: 'ipsec/remotes',
  limits: {},
  identities: ({ name, options }) =>
    inNameSpace('ipsec', [name, ...textsIn(options.connections).map(nameOfConnection)]),
  lacks: (remote, context) => [
    ...secretLacks(remote, context),
    ...(remote.authentication_method === 'pubkey'
      ? [
          unsupported(
            'spec.authentication_method',
            'shows certificates in a form that cannot be compared',
          ),
        ]
      : []),
    ...remote.connections.flatMap(({ if_id: id }, index) =>
      id === undefined ? [] : [unsupported(`spec.connections[${index}].if_id`, 'ignores it')],
    ),
  ],
  object: (remote, context) => ({
    type: remote.type === VTI_BASED ? remote.type : undefined,
    gateway: remote.remote,
    authentication_method: remote.authentication_method,
    pre_shared_key: keyOf(remote, context),
    local_identifier: remote.local_identifier,
    remote_identifier: remote.remote_identifier,
    crypto_proposal: remote.crypto_proposal.map(context.uciNameOf),
    force_crypto_proposal: remote.force_crypto_proposal,
    // As the API gives them back: tunnels first.
    connections: (['tunnel', 'transport'] as const).flatMap((type) =>
      remote.connections
        .filter(({ conn_type }) => conn_type === type)
        .map((connection) => icnConnection(connection, context)),
    ),
  }),
});

const icnConnection = (
  { name, crypto_proposal, ...options }: Connection,
  { uciNameOf }: RenderContext,
): string =>
  objectText({
    ...options,
    name: uciNameOf(name),
    local_subnet: joined(options.local_subnet),
    remote_subnet: joined(options.remote_subnet),
    crypto_proposal: crypto_proposal?.map(uciNameOf),
  });

const nameOfConnection = (text: string): string => String(JSON.parse(text).name);

/** All but their names and what the address of a connection is. */
export const remoteKind = {
  ...ruleResource,
  holdsKeys: true,
  runsPrograms: true,
  specRules: remoteRules,
  references: remoteReferences,
  secrets: remoteSecrets,
  partNames: connectionNames,
  claims: connectionClaims,
  shares: keySharings,
  cautions,
  uci: {
    package: 'ipsec',
    ownership: 'stamp',
    sectionPrefix: '',
    icn: icnRemote,
    pathOf: pathOfSection,
    leftOut: leftOutOfSwanctl,
    lacks: remoteLacks,
    clashes: clashingKeys,
    render: renderRemote,
    files: certificateFiles,
  },
  icn: remoteResource,
} as const;
