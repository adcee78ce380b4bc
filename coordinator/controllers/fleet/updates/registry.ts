/**
 * What a tag stands for in its registry. Users of a namespace choose images, so each request is one
 * on their behalf: by https alone, to registries and networks that an operator has named, bounded
 * in time and size, one at a time for each registry, and without redirects.
 */
import { lookup as lookUpAddresses } from 'node:dns';
import { readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { isIP, isIPv4, type LookupFunction } from 'node:net';
import { rootCertificates } from 'node:tls';
import * as z from 'zod';
import { exchange, type Answer } from '#shared/http/exchange.ts';
import { createGate, type Gate } from '#shared/http/gate.ts';
import { bareHost } from '#shared/http/host.ts';
import { withDeadline } from '#shared/runtime/deadline.ts';
import { within } from '#shared/util/addresses.ts';
import { jsonIn } from '#shared/util/json.ts';
import { readCredentials, type Credentials } from './credentials.ts';
import { DOCKER_HUB, isDigest, referenceOf, type ImageReference } from './image.ts';

export type RegistryOptions = {
  /** Registries that may be asked besides those with credentials, as images name them. */
  hosts: readonly string[];
  /** Docker's `config.json` with credentials, of a mounted Secret. */
  configFile: string | undefined;
  /** PEM file with CAs of registries, besides those that Node ships. */
  caFile: string | undefined;
  /** CIDRs of addresses that registries may have although the Internet does not reach them. */
  networks: readonly string[];
  /** Default: the system's. */
  lookup?: LookupFunction;
};

/** @throws RegistryError */
export type DigestOf = (
  image: string,
  by: { namespace: string; signal: AbortSignal },
) => Promise<string>;

/** Why it is not known what a tag stands for. Nothing of what a server says is in it. */
export class RegistryError extends Error {
  override name = 'RegistryError';
  readonly reason:
    | 'ImageInvalid'
    | 'RegistryNotAllowed'
    | 'RegistryUnreachable'
    | 'RegistryRefused';

  constructor(reason: RegistryError['reason'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** For all requests that a look-up takes. */
const LOOK_UP_MS = 5_000;
export const MAX_REGISTRY_BYTES = 65_536;
/** Look-ups of a namespace that wait for their turn at one registry. */
export const MAX_LOOK_UPS = 16;
/** So long each of those may wait. */
const TURN_MS = 120_000;
const MAX_TOKEN_LENGTH = 8_192;
const MAX_CHALLENGE_LENGTH = 1_024;
const ACCEPT = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

export const createRegistry = (options: RegistryOptions): DigestOf => {
  const isReachable = addressCheck(options.networks);
  const lookup = checkedLookup(isReachable, options.lookup);
  /** By host. As many as there are registries that may be asked. */
  const turns = new Map<string, Gate>();
  return async (image, { namespace, signal }) => {
    const reference = referenceOf(image);
    if (reference === undefined) throw new RegistryError('ImageInvalid', 'is no name of an image');
    const { host } = reference;
    const [credentials, ca] = await configured(options);
    const hosts = new Set([...options.hosts, ...credentials.keys()]);
    if (!hosts.has(host))
      throw new RegistryError('RegistryNotAllowed', `${host} is not in SDEWAN_REGISTRIES`);
    const gate = turns.getOrInsertComputed(host, () =>
      createGate({ most: 1, waiting: MAX_LOOK_UPS, timeoutMs: TURN_MS }),
    );
    const leave = await gate.enter(1, namespace);
    if (!leave)
      throw new RegistryError('RegistryUnreachable', `too many look-ups wait for ${host}`);
    try {
      return await withDeadline({ timeoutMs: LOOK_UP_MS, signal }, (own) =>
        resolve(reference, {
          own: credentials.get(host),
          hosts,
          ca,
          isReachable,
          lookup,
          signal: own,
        }),
      );
    } catch (cause) {
      throw signal.aborted || cause instanceof RegistryError ? cause : unreachable(host, cause);
    } finally {
      leave();
    }
  };
};

type Asking = {
  /** Those at the registry that is asked. */
  own: Credentials | undefined;
  hosts: ReadonlySet<string>;
  ca: string | undefined;
  isReachable: (address: string) => boolean;
  lookup: LookupFunction;
  signal: AbortSignal;
};

const resolve = async (reference: ImageReference, asking: Asking): Promise<string> => {
  const { host, name, tag } = reference;
  const url = new URL(`https://${serverOf(host)}/v2/${name}/manifests/${tag}`);
  const ask = (authorization?: string): Promise<Answer> =>
    send('HEAD', url, { accept: ACCEPT, ...(authorization && { authorization }) }, asking);
  const first = await ask();
  if (first.status !== UNAUTHORIZED) return digestIn(host, first);
  return digestIn(host, await ask(await authorizationFor(reference, first.headers, asking)));
};

const UNAUTHORIZED = 401;

const digestIn = (host: string, { status, headers }: Answer): string => {
  const digest = headers['docker-content-digest'];
  if (status !== 200)
    throw new RegistryError('RegistryRefused', `${host} answers with status ${status}`);
  if (typeof digest !== 'string' || !isDigest(digest))
    throw new RegistryError('RegistryRefused', `${host} answers without a digest`);
  return digest;
};

/** As RFC 9110 has challenges; of a bearer's, as distribution's documentation of tokens. */
const authorizationFor = async (
  { host, name }: ImageReference,
  { 'www-authenticate': challenge = '' }: IncomingHttpHeaders,
  asking: Asking,
): Promise<string> => {
  const basic = asking.own && `Basic ${Buffer.from(asking.own.join(':')).toString('base64')}`;
  if (challenge.length > MAX_CHALLENGE_LENGTH || !/^bearer /i.test(challenge)) {
    if (basic !== undefined && /^basic\b/i.test(challenge)) return basic;
    throw new RegistryError('RegistryRefused', `${host} asks for a login that there is not`);
  }
  const url = realmOf(challenge, host, asking.hosts);
  const service = parameterOf(challenge, 'service');
  if (service !== undefined) url.searchParams.set('service', service);
  url.searchParams.set('scope', `repository:${name}:pull`);
  return `Bearer ${await tokenBy(url, basic, asking)}`;
};

const tokenBy = async (url: URL, basic: string | undefined, asking: Asking): Promise<string> => {
  const headers = { accept: 'application/json', ...(basic && { authorization: basic }) };
  const { status, body } = await send('GET', url, headers, asking);
  const { data } = tokenSchema.safeParse(jsonIn(body.toString('utf8')));
  const token = data?.token ?? data?.access_token;
  if (status !== 200 || token === undefined)
    throw new RegistryError('RegistryRefused', `${url.host} gives no token, with status ${status}`);
  return token;
};

const tokenText = z
  .string()
  .max(MAX_TOKEN_LENGTH)
  .regex(/^[\x21-\x7e]+$/);
const tokenSchema = z.object({ token: tokenText.optional(), access_token: tokenText.optional() });

const parameterOf = (challenge: string, name: string): string | undefined =>
  new RegExp(`[ ,]${name}="([^"]*)"`, 'i').exec(challenge)?.[1];

/**
 * The registry's own host, or one that an operator has named: what is a registrable name, and so
 * who owns its siblings, only a list of all of them tells. Credentials go to no other.
 */
const realmOf = (challenge: string, host: string, hosts: ReadonlySet<string>): URL => {
  const url = URL.parse(parameterOf(challenge, 'realm') ?? '');
  const isOwn =
    url !== null &&
    [serverOf(host), ...hosts, ...(host === DOCKER_HUB ? [HUB_REALM] : [])]
      .map((each) => URL.parse(`https://${each}`)?.host)
      .includes(url.host);
  if (url?.protocol !== 'https:' || !isOwn || url.username !== '' || url.password !== '')
    throw new RegistryError(
      'RegistryNotAllowed',
      `${host} sends for a token to a server that is not its own: name that in SDEWAN_REGISTRIES`,
    );
  return url;
};

/** Docker Hub's names, images and tokens are at three hosts. */
const HUB_REALM = 'auth.docker.io';
const serverOf = (host: string): string => (host === DOCKER_HUB ? 'registry-1.docker.io' : host);

const send = async (
  method: 'GET' | 'HEAD',
  url: URL,
  headers: Readonly<Record<string, string>>,
  { ca, isReachable, lookup, signal }: Asking,
): Promise<Answer> => {
  const address = bareHost(url.hostname);
  if (isIP(address) !== 0 && !isReachable(address)) throw internal(url.host);
  const limits = { maxBytes: MAX_REGISTRY_BYTES, timeoutMs: LOOK_UP_MS, signal };
  return exchange({ method, url, headers, ca, lookup, ...limits });
};

const internal = (host: string): RegistryError =>
  new RegistryError(
    'RegistryNotAllowed',
    `${host} has an address that is not of the Internet, and not in SDEWAN_REGISTRY_NETWORKS`,
  );

/** A code alone: words of a server or of the network behind are not for users of a namespace. */
const unreachable = (host: string, cause: unknown): RegistryError => {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no whole answer';
  const why = cause instanceof DOMException ? `no answer in ${LOOK_UP_MS / 1_000} s` : code;
  return new RegistryError('RegistryUnreachable', `${host}: ${why}`, { cause });
};

/**
 * Each connection is made to an address that was looked at: a name that has another one a moment
 * later leads nowhere else.
 */
const checkedLookup =
  (
    isReachable: (address: string) => boolean,
    lookup: LookupFunction = lookUpAddresses,
  ): LookupFunction =>
  (hostname, options, callback) =>
    lookup(hostname, { ...options, all: true }, (error, found) => {
      const all = Array.isArray(found) ? found : [];
      const [first, ...others] = all.filter(({ address }) => isReachable(address));
      if (error) callback(error, '');
      else if (!first) callback(internal(hostname), '');
      else if (options.all) callback(null, [first, ...others]);
      else callback(null, first.address, first.family);
    });

/** From IPv6, what is given out for the Internet, without what stands for an address of IPv4. */
const addressCheck = (networks: readonly string[]): ((address: string) => boolean) => {
  const isNamed = within(networks);
  return (address) =>
    isNamed(address) || (!isInternal(address) && (isIPv4(address) || isGivenOut(address)));
};

const isGivenOut = within(['2000::/3']);

/** Registered at IANA as not globally reachable, or for more than one. */
const isInternal = within([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
]);

const configured = async ({ caFile, configFile }: RegistryOptions) => {
  try {
    return await Promise.all([readCredentials(configFile), readCas(caFile)]);
  } catch (cause) {
    const message = 'the coordinator cannot read its logins at registries, or their CAs';
    throw new RegistryError('RegistryUnreachable', message, { cause });
  }
};

const readCas = async (file: string | undefined): Promise<string | undefined> =>
  file === undefined ? undefined : [...rootCertificates, await readFile(file, 'utf8')].join('\n');
