/**
 * Whether OpenWRT's kernel has what the packages of its configuration ask for, and the way back. A
 * look every few seconds finds a table of nft that is gone, a route, an ip rule; nft's rules one by
 * one, and mwan3's, are compared once a minute, and after each reload of ours.
 */
import type { Clock } from '#shared/runtime/clock.ts';
import type { BySection, KernelLook } from '../driver.ts';
import { ACCESS_DENIED, UbusError } from '../ubus/client/rpc.ts';
import type { UbusSession } from '../ubus/login/session.ts';
import type { Space } from '../ubus/write/space.ts';
import { found, runVerb } from './calls.ts';
import { createCharonLook } from './loaded-charon.ts';
import { createMwan3Look, type Mwan3Found } from './loaded-mwan3.ts';
import { createTableLook, type LoadedTable } from './loaded-fw4.ts';
import { sameAgain, type Ask, type Look } from './look.ts';
import { lackingRouting } from './loaded-routes.ts';
import { allLack, type Compared } from './sections.ts';

/** What is gone is to be back after 5 s. */
const LOOK_MS = 3_000;
export type Kernel = {
  /** In each new session, before anything else. @throws OpenwrtError */
  begin: (session: UbusSession, signal: AbortSignal) => Promise<void>;
  /** The last look is some seconds old. */
  isDue: () => boolean;
  /** @throws OpenwrtError */
  look: (look: Look) => Promise<KernelLook>;
  /** Its two halves, for a driver that reads the packages at the same time. @throws OpenwrtError */
  see: (look: Look) => Promise<void>;
  compare: (look: Look) => KernelLook;
  /**
   * The same after reloads of ours: what the kernel has now of these packages is what it should
   * have, and routes and rules that a service has taken away come back. `table`: fw4's, where it
   * has just been listed. @throws OpenwrtError
   */
  reloaded: (look: Look, packages: readonly string[], table?: string) => Promise<KernelLook>;
  /** Why the agent cannot look into the kernel; undefined where it does. */
  whyUnread: () => string | undefined;
  /** Undefined where the agent does not look. */
  table: () => LoadedTable | undefined;
  /** Free space, as of the last look. Undefined where there is none, or `df` does not say. */
  space: () => Space | undefined;
  /** Differs when what is lacking does. */
  version: () => string;
};

const FW4 = 'table inet fw4';
/** One for each family of addresses, where iptables makes rules of nft; or mwan3's own of nft. */
const MWAN3 = /chain mwan3_(?:hook|prerouting) /;
const HASH = /^[0-9a-f]{32}/m;
const CHARON = /^charon /;
const PERCENT = /^\d+%$/;

const NOTHING_FOUND: KernelLook = { lacking: new Map(), incomparable: new Map() };

type Seen = {
  hash: string;
  routing: string;
  hasFw4: boolean;
  /** The line about its process: another one has loaded nothing yet. */
  charon: string;
  space: Space | undefined;
};

export const createKernel = (clock: Pick<Clock, 'monotonic'>): Kernel => {
  /** Why the agent does not look. */
  let unread: string | undefined = 'the agent has not looked yet';
  let lookedAt = -Infinity;
  /** What `begin` was given, for the first look of the session. */
  let ahead: Answer | undefined;
  let seen: Seen = { hash: '', routing: '', hasFw4: false, charon: '', space: undefined };
  let last: KernelLook = NOTHING_FOUND;
  const inRouting = sameAgain(lackingRouting);

  const ask: Ask = async ({ session, signal }, verb) => {
    const known = verb === 'state' ? ahead : undefined;
    ahead = undefined;
    const answer = known ?? (await runVerb(session, verb, signal));
    if ('whyNot' in answer) {
      unread = answer.whyNot;
      return undefined;
    }
    const hash = HASH.exec(answer.stdout)?.[0] ?? '';
    return { hash, lines: answer.stdout.split('\n') };
  };

  const inTable = createTableLook(ask, clock);
  const inMwan3 = createMwan3Look(ask, clock);
  const inCharon = createCharonLook(clock);

  const readState = async (look: Look): Promise<void> => {
    lookedAt = clock.monotonic();
    const state = await ask(look, 'state');
    if (state === undefined) return;
    const { hash, lines } = state;
    const isKnown = hash === '' || hash === seen.hash;
    const routing = isKnown ? hash && seen.routing : await found(look.session, hash, look.signal);
    seen = {
      hash,
      routing,
      hasFw4: lines.some((line) => line.includes(FW4)),
      charon: lines.find((line) => CHARON.test(line)) ?? '',
      space: spaceIn(lines),
    };
    inMwan3.hooksSeen(lines.filter((line) => MWAN3.test(line)).length);
  };

  const compare = ({ contents, capabilities }: Look): KernelLook => {
    const firewall = contents('firewall');
    const hasTable = capabilities.firewall !== 'fw4' || seen.hasFw4;
    last = lookFrom({
      network: inRouting(contents('network'), seen.routing),
      firewall: hasTable ? inTable.compare(firewall) : allLack(firewall, `nft's ${FW4}`),
      mwan3: inMwan3.compare(contents('mwan3')),
      ipsec: inCharon.compare(contents('ipsec')),
    });
    return last;
  };

  const see = async (at: Look): Promise<void> => {
    if (unread === undefined) await readState(at);
    if (unread === undefined && seen.hasFw4 && inTable.isDue()) await inTable.read(at);
    if (unread === undefined && inMwan3.isDue(at)) await inMwan3.read(at);
    const { charon } = seen;
    if (unread === undefined && inCharon.isDue(at, charon)) await inCharon.read(at, charon);
  };
  const compared = (at: Look): KernelLook => {
    if (unread === undefined) return compare(at);
    last = { ...NOTHING_FOUND, unread };
    return last;
  };
  const look = async (at: Look): Promise<KernelLook> => {
    await see(at);
    return compared(at);
  };

  return {
    begin: async (session, signal) => {
      ahead = await firstAnswer(session, signal);
      unread = 'whyNot' in ahead ? ahead.whyNot : undefined;
      lookedAt = -Infinity;
    },
    isDue: () => unread === undefined && clock.monotonic() - lookedAt >= LOOK_MS,
    look,
    see,
    compare: compared,
    reloaded: async (at, packages, table) => {
      if (packages.includes('mwan3')) inMwan3.reloaded();
      if (packages.includes('ipsec')) inCharon.reloaded();
      if (packages.includes('firewall')) inTable.reloaded(table);
      const after = await look(at);
      if (!after.lacking.has('network')) return after;
      await runVerb(at.session, 'restore-routes', at.signal);
      return look(at);
    },
    whyUnread: () => unread,
    table: () => (unread === undefined ? inTable.table() : undefined),
    space: () => (unread === undefined ? seen.space : undefined),
    version: () => versionOf(last),
  };
};

type Answer = Awaited<ReturnType<typeof runVerb>>;

/**
 * What `df -Pk` says: file system, size, used, available, in kilobytes. One regular expression for
 * the line takes the square of the number of blanks.
 */
const spaceIn = (lines: readonly string[]): Space | undefined => {
  const free = lines.flatMap((line) => {
    const words = line.split(' ').filter((word) => word !== '');
    const kilobytes = Number(words[words.findIndex((word) => PERCENT.test(word)) - 1]);
    return Number.isSafeInteger(kilobytes) ? [kilobytes * 1024] : [];
  });
  const [config, tmp] = free;
  return config === undefined || tmp === undefined ? undefined : { config, tmp };
};

/** A login that may not start anything is answered as if its session had ended. */
const firstAnswer = async (session: UbusSession, signal: AbortSignal): Promise<Answer> => {
  try {
    return await runVerb(session, 'state', signal);
  } catch (error) {
    if (!(error instanceof UbusError) || error.code !== ACCESS_DENIED) throw error;
    return { whyNot: 'the login on OpenWRT may not run programs' };
  }
};

type Found = Readonly<Record<'network' | 'firewall' | 'ipsec', Compared>> & { mwan3: Mwan3Found };

const lookFrom = (found: Found): KernelLook => {
  const part = (key: keyof Compared): BySection =>
    new Map(
      Object.entries(found).flatMap(([name, { [key]: sections }]) =>
        sections.size > 0 ? [[name, sections]] : [],
      ),
    );
  const { passes, refused } = found.mwan3;
  return {
    lacking: part('lacking'),
    incomparable: part('incomparable'),
    passing: new Set(['ipsec', ...(passes ? ['mwan3'] : [])]),
    refused: new Map(refused && [['mwan3', refused]]),
  };
};

const versionOf = ({ lacking, incomparable, refused = new Map() }: KernelLook): string =>
  JSON.stringify(
    [lacking, incomparable, refused].map((some) =>
      [...some].map(([name, sections]) => [name, ...sections]),
    ),
  );
