/**
 * ipsec/v1/remotes: a named `remote` section and one section per connection, in the one name space
 * of the package. A remote with a `type` is committed half-way, and an empty one stays behind when
 * its connections are refused afterwards.
 */
import { isArray, isObject, type JsonObject } from '../json.ts';
import type { UciSection } from '../uci/package.ts';
import { CERTIFICATE_FIELDS, decodedAgain, removeFiles, save } from './certificates.ts';
import { definedBy, flag, oneOf, plain } from './checks.ts';
import type { Collection } from './collection.ts';
import { luaError, Refusal } from './errors.ts';
import { asText, shown, valueOf, type Context, type Data, type Field } from './fields.ts';
import { listOf, textOf, type Draft } from './uci.ts';

const CONNECTION_TYPES = ['tunnel', 'transport'] as const;

const proposals: Field = {
  name: 'crypto_proposal',
  list: true,
  status: 428,
  message: 'invalid crypto_proposal',
  check: definedBy(
    'Proposal',
    (name, { uci }) => uci.load('ipsec').find(name)?.type === 'proposal',
    () => {
      throw luaError('ipsec_rest.lua:294', "attempt to concatenate local 'name' (a nil value)");
    },
  ),
};

const yesOrNo = (name: string): Field => ({ name, check: oneOf('yes', 'no'), message: '' });

const CONNECTION_FIELDS: readonly Field[] = [
  plain('name'),
  { name: 'conn_type', check: oneOf(...CONNECTION_TYPES), message: 'invalid connection type' },
  { name: 'mode', check: oneOf('start', 'add', 'route'), message: 'invalid connection mode' },
  ...['local_subnet', 'local_nat', 'local_sourceip', 'local_updown'].map((name) => plain(name)),
  yesOrNo('local_firewall'),
  ...['remote_subnet', 'remote_sourceip', 'remote_updown'].map((name) => plain(name)),
  yesOrNo('remote_firewall'),
  proposals,
  plain('mark'),
];

const REMOTE_FIELDS: readonly Field[] = [
  plain('type'),
  plain('gateway'),
  plain('enabled'),
  { name: 'authentication_method', check: oneOf('psk', 'pubkey'), message: '' },
  plain('pre_shared_key'),
  plain('local_identifier'),
  plain('remote_identifier'),
  proposals,
  { name: 'force_crypto_proposal', check: flag, message: 'invalid input for ForceCryptoProposal' },
  ...CERTIFICATE_FIELDS.map(({ name }) => plain(name)),
];

const SECRETS: Readonly<Record<string, readonly string[]>> = {
  psk: ['pre_shared_key'],
  pubkey: CERTIFICATE_FIELDS.map(({ name }) => name),
};

const checkSecrets = (data: Data): Data => {
  const method = asText(data['authentication_method'] ?? '');
  const needed = SECRETS[method];
  if (!needed) throw new Refusal(400, 'Invalid authentication method');
  if (needed.some((name) => data[name] === undefined))
    throw new Refusal(400, `Secret does not exists for the authentication method: ${method}`);
  return data;
};

const create = (data: Data, name: string, context: Context): void => {
  const { uci, by } = context;
  const draft = uci.open('ipsec');
  const remote = draft.add('remote', name);
  const type = data['type'];
  if (typeof type === 'string') {
    setRouting(draft, type);
    draft.stage();
    uci.commit('ipsec', by);
  }
  try {
    setOptions(draft, remote, { data: { enabled: '1', ...data }, name, context });
    addConnections(draft, remote, data);
  } finally {
    draft.stage();
  }
};

/** Global to all remotes: the last one wins. */
const setRouting = (draft: Draft, type: string): void => {
  const global = draft.package.sections.find((section) => section.type === 'ipsec');
  draft.set(global?.name, 'rtinstall_enabled', '0');
  draft.set(global?.name, 'vip_enabled', type === 'VTI-based' ? '0' : '1');
};

const setOptions = (
  draft: Draft,
  remote: string | undefined,
  { data, name, context }: { data: Data; name: string; context: Context },
): void => {
  for (const field of REMOTE_FIELDS) {
    const value = data[field.name];
    const certificate = CERTIFICATE_FIELDS.find((one) => one.name === field.name);
    if (value === undefined) continue;
    if (certificate && typeof value === 'string')
      draft.set(remote, field.name, save(certificate, name, { value, path: context.path }));
    else draft.set(remote, field.name, valueOf(value));
  }
};

/** One without `conn_type` is lost. @throws Refusal 409, with nothing staged */
const addConnections = (draft: Draft, remote: string | undefined, data: Data): void => {
  const given = data['connections'];
  const connections = isArray(given) ? given.filter(isObject) : [];
  for (const type of CONNECTION_TYPES) {
    const ofType = connections.filter((connection) => connection['conn_type'] === type);
    const names = ofType.map((connection) => asText(connection['name'] ?? ''));
    draft.set(remote, type, names);
    for (const [index, connection] of ofType.entries()) {
      const name = names[index] ?? '';
      if (name === '' || draft.package.find(name)) {
        draft.forget();
        throw new Refusal(409, 'Conflict');
      }
      const section = draft.add(type, name);
      for (const field of CONNECTION_FIELDS) {
        const value = connection[field.name];
        if (value !== undefined && field.name !== 'name' && field.name !== 'conn_type')
          draft.set(section, field.name, valueOf(value));
      }
    }
  }
};

const connectionSections = (remote: UciSection, { uci }: Context): UciSection[] => {
  const uciPackage = uci.load('ipsec');
  return CONNECTION_TYPES.flatMap((type) =>
    listOf(remote, type).flatMap((name) => uciPackage.find(name) ?? []),
  );
};

const show = (section: UciSection, context: Context): JsonObject => {
  const certificates = CERTIFICATE_FIELDS.flatMap(({ name }) => {
    const decoded = decodedAgain(textOf(section, name), context.path);
    return decoded === undefined ? [] : [[name, decoded] as const];
  });
  const options = REMOTE_FIELDS.filter(
    ({ name }) => !CERTIFICATE_FIELDS.some((certificate) => certificate.name === name),
  );
  const connections = connectionSections(section, context).map((connection) => ({
    ...shown(CONNECTION_FIELDS, connection),
    conn_type: connection.type,
  }));
  return {
    ...shown(options, section),
    ...Object.fromEntries(certificates),
    ...(CONNECTION_TYPES.some((type) => section.options.has(type)) ? { connections } : {}),
  };
};

export const REMOTES: Collection = {
  key: 'remotes',
  noun: 'remote',
  package: 'ipsec',
  type: 'remote',
  named: true,
  fields: [
    plain('name'),
    ...REMOTE_FIELDS,
    { name: 'connections', items: CONNECTION_FIELDS, message: 'invalid connection' },
  ],
  check: checkSecrets,
  create,
  show,
  beforeRemove: (remotes, draft, context) => {
    for (const remote of remotes) {
      for (const connection of connectionSections(remote, context)) draft.remove(connection.name);
      for (const { name } of CERTIFICATE_FIELDS) removeFiles(textOf(remote, name), context.path);
    }
  },
};
