/**
 * What the collections hold, as last listed. Each listing costs OpenWRT a process, so between
 * passes only two collections are looked at: one that shows a restart, since something of ours
 * would be missing from it, and one of the others in turn.
 */
import { createHash } from 'node:crypto';
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import { parseUntrusted } from '#shared/util/untrusted.ts';
import { OpenwrtApiMissingError, type Fingerprint } from '../driver.ts';
import { COLLECTIONS, type Collection } from './collections.ts';
import type { RestCall, RestClient } from './client.ts';
import { inForceBy, isShown } from './in-force.ts';
import { isDoubled, listSchema, notInForce, sectionsOf } from './objects.ts';

/**
 * Undefined: this OpenWRT does not have the collection. `why`: it could not be listed now; what it
 * had when it was last.
 */
type Listed = { content: UciPackage; hash: string; why?: string } | undefined;

export type IcnState = {
  /** Lists the collections anew; gives whether objects went without us. @throws OpenwrtError */
  list: (collections: readonly Collection[], signal: AbortSignal) => Promise<boolean>;
  /** @throws OpenwrtApiMissingError when nothing of the API is there */
  probe: (signal: AbortSignal) => Promise<Fingerprint>;
  fingerprint: () => Fingerprint;
  packages: () => ReadonlyMap<string, UciPackage>;
  /** Collections that could not be listed, and why. */
  unusable: () => ReadonlyMap<string, string>;
  sections: (packageName: string) => readonly UciSection[];
  /** We have put something there: if it is gone, OpenWRT has restarted. */
  watch: (packageName: string) => void;
  /** We remove it. */
  forget: (packageName: string, name: string) => void;
  /** Rules in iptables may be gone or left over: the firewall did something that was not ours. */
  isFirewallDoubtful: () => boolean;
  trustFirewall: () => void;
};

export const createIcnState = (client: RestClient): IcnState => {
  let listed: ReadonlyMap<string, Listed> = new Map();
  let watched: string | undefined;
  let turn = 0;
  let doubts = 0;
  let doubtful = false;

  const doubt = (): void => {
    if (!doubtful) doubts += 1;
    doubtful = true;
  };
  const compose = (now: ReadonlyMap<string, Listed>): Fingerprint =>
    [
      client.losses(),
      doubts,
      ...COLLECTIONS.map(({ package: name }) => now.get(name)?.hash ?? '-'),
    ].join('/');

  return {
    list: async (collections, signal) => {
      let lost = false;
      const look = createLook(client, signal);
      for (const collection of collections) {
        const before = listed.get(collection.package);
        const now = await listOne(client, collection, { before, look, signal });
        const isLost = hasLost(before, now);
        if (collection.inIptables && (isLost || hasDoubled(before, now))) doubt();
        lost ||= isLost;
        listed = new Map([...listed, [collection.package, now]]);
      }
      return lost;
    },
    probe: async (signal) => {
      if (listed.size === 0) {
        const call: RestCall = { method: 'GET', path: 'v1/services' };
        const { status, json } = await client.call(call, signal);
        if (status !== 200 || json === undefined)
          throw new OpenwrtApiMissingError("look for ICN's REST API", `HTTP status ${status}`);
        return 'not read';
      }
      turn += 1;
      watched ??= largestIn(listed);
      const next = COLLECTIONS[turn % COLLECTIONS.length];
      const looked = COLLECTIONS.filter((each) => each === next || each.package === watched);
      const now = new Map(listed);
      const look = createLook(client, signal);
      for (const collection of looked) {
        const before = listed.get(collection.package);
        now.set(collection.package, await listOne(client, collection, { before, look, signal }));
      }
      return compose(now);
    },
    fingerprint: () => compose(listed),
    packages: () =>
      new Map(
        [...listed].flatMap(([name, each]): [string, UciPackage][] =>
          each && each.why === undefined ? [[name, each.content]] : [],
        ),
      ),
    unusable: () =>
      new Map(
        [...listed].flatMap(([name, each]): [string, string][] =>
          each?.why === undefined ? [] : [[name, each.why]],
        ),
      ),
    sections: (packageName) => listed.get(packageName)?.content.sections ?? [],
    watch: (packageName) => {
      watched = packageName;
    },
    forget: (packageName, name) => {
      const before = listed.get(packageName);
      if (before === undefined) return;
      const sections = before.content.sections.filter((section) => section.name !== name);
      const content = { ...before.content, sections };
      listed = new Map([...listed, [packageName, { content, hash: hashOf(content) }]]);
    },
    isFirewallDoubtful: () => doubtful,
    trustFirewall: () => {
      doubtful = false;
    },
  };
};

/** What a module of v1/status says. */
type Look = (module: string) => Promise<unknown>;

/** Asks each module once. */
const createLook = (client: RestClient, signal: AbortSignal): Look => {
  const asked = new Map<string, Promise<unknown>>();
  return (module) => {
    const call: RestCall = { method: 'GET', path: `v1/status/${module}` };
    return asked.getOrInsertComputed(module, () =>
      client.call(call, signal).then(({ json }) => json),
    );
  };
};

/** `before`: as it was listed last. */
const listOne = async (
  client: RestClient,
  collection: Collection,
  { before, look, signal }: { before: Listed; look: Look; signal: AbortSignal },
): Promise<Listed> => {
  const call: RestCall = { method: 'GET', path: collection.path };
  const answer = await client.call(call, signal);
  if (answer.status === 404) return undefined;
  const { package: name } = collection;
  const list = parseUntrusted(listSchema(collection.key), answer.json);
  if (answer.status !== 200 || !list.success) {
    const content = before?.content ?? { name, sections: [] };
    const said = answer.status === 200 ? 'no list' : `HTTP status ${answer.status}`;
    return { content, hash: 'unread', why: `OpenWRT answers ${said} when ${name} is listed` };
  }
  const sections = sectionsOf(collection, list.data);
  const content = {
    name: collection.package,
    sections: await judged(collection, sections, look),
  };
  return { content, hash: hashOf(content) };
};

/** With those marked that the kernel does not hold. */
const judged = async (
  { package: name, shownBy }: Collection,
  sections: readonly UciSection[],
  look: Look,
): Promise<readonly UciSection[]> => {
  if (shownBy === undefined || !sections.some(isShown)) return sections;
  const isInForce = inForceBy(name, await look(shownBy));
  return sections.map((each) => (isInForce(each) ? each : notInForce(each)));
};

/** The best guess where something of ours is, after a restart of the agent. */
const largestIn = (listed: ReadonlyMap<string, Listed>): string | undefined => {
  const size = (each: Listed): number => each?.content.sections.length ?? 0;
  return [...listed].toSorted(([, a], [, b]) => size(b) - size(a))[0]?.[0];
};

/**
 * When another client removed an object, its rule may be gone or still there; after a restart of
 * the container it is still there.
 */
const hasLost = (before: Listed, now: Listed): boolean => {
  const left = new Set(now?.content.sections.map(({ name }) => name));
  return before?.content.sections.some(({ name }) => !left.has(name)) ?? false;
};

/** Its rule is there twice, and removing the object removes one. */
const hasDoubled = (before: Listed, now: Listed): boolean => {
  const known = new Set(before?.content.sections.filter(isDoubled).map(({ name }) => name));
  return (
    now?.content.sections.some((section) => isDoubled(section) && !known.has(section.name)) ?? false
  );
};

const hashOf = (content: UciPackage): string =>
  createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 16);
