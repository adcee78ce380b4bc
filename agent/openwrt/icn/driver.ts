/**
 * The driver for the REST API of ICN's CNF image. The API has no transactions: objects are written
 * one by one, each read back, and the services act once at the end. What happens on the way is
 * known at the next listing, so every pass begins with one. Invariant: an object is only changed or
 * removed under a name that a delta holds, which the ledger does.
 */
import { ICN } from '#shared/inject/drivers.ts';
import { ASSUMED, type Capabilities } from '#shared/resources/capabilities.ts';
import { sectionsEqual } from '#shared/uci/delta.ts';
import type { UciDelta, UciPackage } from '#shared/uci/model.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { OpenwrtTarget } from '../ubus/login/credentials.ts';
import { OpenwrtError, type ApplyResult, type Driver, type Fingerprint } from '../driver.ts';
import { createRestClient, expectStatus, type RestCall, type RestClient } from './client.ts';
import { COLLECTIONS, collectionOf, type Service, type Write } from './collections.ts';
import { readIcnInformation } from './information.ts';
import { createObjectNames } from './names.ts';
import { isNotInForce } from './objects.ts';
import { createIcnState, type IcnState } from './state.ts';
import { carryOut, servicesOf, writesOf } from './writes.ts';
import { own } from '#shared/util/own.ts';

export type IcnDriverOptions = {
  target: OpenwrtTarget;
  /** Rules in iptables cannot be read: they are written anew after so many ms; 0: never. */
  reassertMs: number;
  clock: Clock;
};

/** A firewall of 1,000 rules takes 0.95 s (measured); IPsec waits for its processes. */
const SERVICE_TIMEOUT_MS = 60_000;
/** Stands for the firewall where an action of it is due: the package whose delta is empty then. */
const FIREWALL = 'firewall/zones';
/** The image is one for all; what its REST does not offer is not to be asked for. */
const ICN_IMAGE: Capabilities = { ...ASSUMED, dialect: ICN.dialect, firewall: 'fw3', sets: false };
const IN_IPTABLES = COLLECTIONS.filter(({ inIptables }) => inIptables);

export const createIcnDriver = ({ target, reassertMs, clock }: IcnDriverOptions): Driver => {
  const client = createRestClient(target, clock);
  const state = createIcnState(client);
  const names = createObjectNames();
  let assertedAt = clock.monotonic();
  /** A restart during which no call was made shows only by what it removed. */
  let restarts = 0;

  const isDue = (): boolean => reassertMs > 0 && clock.monotonic() - assertedAt >= reassertMs;
  const fingerprintNow = (): string => (isDue() ? 'to be written anew' : state.fingerprint());

  /** Collections that the deltas name, listed again. */
  const listAgain = async (deltas: readonly UciDelta[], signal: AbortSignal): Promise<Packages> => {
    const collections = deltas.map((delta) => collectionOf(delta.package));
    await state.list(collections, signal);
    const packages = state.packages();
    return names.toOurs(
      new Map(collections.flatMap(({ package: name }) => entryOf(packages, name))),
    );
  };

  return {
    name: ICN.name,
    fingerprint: async (signal) => (isDue() ? fingerprintNow() : state.probe(signal)),

    read: async (signal) => {
      if (await state.list(COLLECTIONS, signal)) restarts += 1;
      const packages = state.packages();
      const isUsed = IN_IPTABLES.some((each) => packages.get(each.package)?.sections.length);
      const doubtful = state.isFirewallDoubtful() || (isUsed && isDue());
      if (isDue()) assertedAt = clock.monotonic();
      return {
        packages: names.toOurs(packages),
        unusable: state.unusable(),
        fingerprint: fingerprintNow(),
        incarnation: `${client.losses()}/${restarts}`,
        capabilities: ICN_IMAGE,
        ...(doubtful && { doubtful: new Set(IN_IPTABLES.map((each) => each.package)) }),
      };
    },

    rename: async (renames) => {
      names.add(renames);
      const renamed = new Set(renames.map((rename) => rename.package));
      const listed = [...state.packages()].filter(([name]) => renamed.has(name));
      const observed = names.toOurs(new Map(listed));
      return { outcome: 'done', observed, fingerprint: fingerprintNow() };
    },

    apply: async (deltas, signal) => {
      const at = { client, state, clock, signal };
      const { refused, stuck } = await writeAll(deltas.map(names.toTheirs), at);
      const observed = await listAgain(deltas, signal);
      const now = { observed, fingerprint: fingerprintNow() };
      if (refused) return rejected(refused, deltas, now);
      const lost = firstLost(deltas, observed);
      if (lost) return rejected({ ...lost, left: [] }, deltas, now);
      // The firewall's reload puts rules of iptables in front of its own, in the order in which
      // they are: so it comes last.
      for (const service of servicesOf(deltas.map((delta) => delta.package))) {
        await act(at, service, own(ACTIONS, service) ?? 'restart');
      }
      for (const { package: name, append } of deltas) if (append.length > 0) state.watch(name);
      return {
        outcome: 'done',
        observed,
        fingerprint: fingerprintNow(),
        warnings: new Map(deltas.map((delta) => [delta.package, new Map()])),
        stuck: names.namesToOurs(stuck),
      };
    },

    information: async (signal) => {
      if (!client.hasSession()) return undefined;
      const remotes = state.packages().get('ipsec/remotes')?.sections ?? [];
      return readIcnInformation(client, remotes, signal);
    },

    unansweredSince: client.unansweredSince,
    close: client.close,
  };
};

/**
 * A reload of the firewall keeps what REST has set in iptables, a restart flushes it (measured);
 * the others know no reload.
 */
const ACTIONS: Readonly<Record<string, string>> = { firewall: 'reload' } satisfies Partial<
  Record<Service, string>
>;

type Packages = ReadonlyMap<string, UciPackage>;
type Refused = {
  package: string;
  name: string;
  message: string;
  perhapsOthers?: true;
  left: readonly Write[];
};
type Outcome = { stuck: ReadonlyMap<string, ReadonlySet<string>>; refused?: Refused };

type At = { client: RestClient; state: IcnState; clock: Clock; signal: AbortSignal };

const act = async ({ client, signal }: At, service: string, action: string): Promise<void> => {
  const body = JSON.stringify({ action });
  const path = `v1/service/${service}`;
  const call: RestCall = { method: 'PUT', path, body, timeoutMs: SERVICE_TIMEOUT_MS };
  expectStatus(call, await client.call(call, signal), 200);
};

/** iptables holds rules whose objects are gone: only a restart of the firewall flushes them. */
const flush = async (at: At): Promise<void> => {
  await act(at, 'firewall', 'restart');
  at.state.trustFirewall();
};

const writeAll = async (deltas: readonly UciDelta[], at: At): Promise<Outcome> => {
  const { client, state, clock, signal } = at;
  const stuck = new Map<string, Set<string>>();
  const writes = writesOf(deltas, state.sections);
  let mustFlush = state.isFirewallDoubtful() && deltas.some(isInIptables);
  for (const [index, write] of writes.entries()) {
    const { collection } = write;
    if (collection.inIptables && mustFlush) {
      await flush(at);
      mustFlush = false;
    }
    // Whatever the call returns, the object is expected to be gone.
    if (write.verb === 'DELETE') state.forget(collection.package, write.name);
    const refusal = await carryOut(client, write, { clock, signal });
    if (refusal === undefined) continue;
    const name = nameOf(write);
    if (!refusal.stuck) {
      const { message } = refusal;
      const left = writes.slice(index);
      return { stuck, refused: { package: collection.package, name, message, left } };
    }
    stuck.getOrInsert(collection.package, new Set()).add(name);
  }
  if (mustFlush) await flush(at);
  return { stuck };
};

const rejected = (
  refused: Refused,
  deltas: readonly UciDelta[],
  { observed, fingerprint }: { observed: Packages; fingerprint: Fingerprint },
): ApplyResult => ({
  outcome: 'rejected',
  package: refused.package,
  message: refused.message,
  sections: [refused.name],
  ...(refused.perhapsOthers && { perhapsOthers: true }),
  partly: { observed, fingerprint, unsettled: unsettledBy(deltas, refused.left) },
});

const isInIptables = (delta: UciDelta): boolean => collectionOf(delta.package).inIptables === true;

const nameOf = (write: Write): string =>
  write.verb === 'DELETE' ? write.name : write.section.name;

const entryOf = (packages: Packages, name: string): [string, UciPackage][] => {
  const found = packages.get(name);
  if (found === undefined) throw new OpenwrtError(`read ${name} back`, 'it is not there any more');
  return [[name, found]];
};

/** What is to be done again: services that have not acted, unfinished rewriting for iptables. */
const unsettledBy = (deltas: readonly UciDelta[], left: readonly Write[]): ReadonlySet<string> => {
  const names = deltas.map((delta) => delta.package);
  const isRewriting = (write: Write): boolean =>
    write.verb === 'PUT' &&
    write.collection.inIptables === true &&
    write.before !== undefined &&
    sectionsEqual(write.before, write.section);
  return new Set([
    ...names.filter((name) => {
      const { service, inIptables } = collectionOf(name);
      return service !== undefined && inIptables !== true;
    }),
    ...(servicesOf(names).has('firewall') ? [FIREWALL] : []),
    ...left.filter(isRewriting).map(({ collection }) => collection.package),
  ]);
};

/** An object that is not as it was sent, although every call said so. */
const firstLost = (
  deltas: readonly UciDelta[],
  observed: Packages,
): Omit<Refused, 'left'> | undefined => {
  for (const { package: name, append } of deltas) {
    const there = new Map(observed.get(name)?.sections.map((each) => [each.name, each]));
    const lost = append.find((section) => {
      const found = there.get(section.name);
      return found === undefined || !sectionsEqual(found, section);
    });
    if (lost) {
      const found = there.get(lost.name);
      const refused = { package: name, name: lost.name };
      return found && isNotInForce(found)
        ? { ...refused, message: 'OpenWRT stored the object, but its kernel refused it' }
        : {
            ...refused,
            message: 'OpenWRT does not show the object as it was sent',
            perhapsOthers: true,
          };
    }
  }
  return undefined;
};
