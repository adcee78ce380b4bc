/**
 * Whether OpenWRT's kernel has what the packages of its configuration ask for, and the way back. A look every few seconds finds a table
 * of nft that is gone, a route, an ip rule; nft's rules one by one, and mwan3's, are compared once a minute, and after each reload of ours.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Capabilities } from '#shared/resources/capabilities.ts';
import type { UciSection } from '#shared/uci/model.ts';
import type { BySection, KernelLook } from '../driver.ts';
import { ACCESS_DENIED, UbusError } from '../ubus/client/rpc.ts';
import type { UbusSession } from '../ubus/client/session.ts';
import { found, runVerb } from './calls.ts';
import { lackingRules, nftRulesIn, type NftRules } from './firewall.ts';
import { compareMwan3, type Mwan3Compared } from './mwan3.ts';
import { readIptables } from './mwan3-iptables.ts';
import type { Space } from '../ubus/write/space.ts';
import { withoutHandles } from './listing.ts';
import { lackingRouting } from './routing.ts';
import { lackingTunnels } from '../services/ipsec-tunnels.ts';
import { compareSections, NOTHING_LACKS, type Compared } from './sections.ts';

/** What is gone is to be back after 5 s. */
const LOOK_MS = 3_000;
/** 5,000 rules take 0.11 s of the CNF's CPU (measured). */
const THOROUGH_LOOK_MS = 60_000;

/** A package as it was read last. The same sections are the same array. */
export type Contents = (name: string) => readonly UciSection[];

type Look = {
  session: UbusSession;
  capabilities: Pick<Capabilities, 'firewall' | 'ipsec'>;
  contents: Contents;
  signal: AbortSignal;
};

/** Table `inet fw4` as it was listed last. */
export type LoadedTable = {
  /** By nft, with handles. */
  text: string;
  rules: NftRules;
  /** As the firewall's last change by us has left them, or as they were first seen. */
  expected: NftRules;
};

export type Kernel = {
  /** In each new session, before anything else. @throws OpenwrtError */
  begin: (session: UbusSession, signal: AbortSignal) => Promise<void>;
  /** The last look is some seconds old. */
  isDue: () => boolean;
  /** @throws OpenwrtError */
  look: (look: Look) => Promise<KernelLook>;
  /** Its two halves, for who reads the packages at the same time. @throws OpenwrtError */
  see: (look: Look) => Promise<void>;
  compare: (look: Look) => KernelLook;
  /**
   * The same after reloads of ours: what the kernel has now of these packages is what it should have, and routes and rules that a service
   * has taken away come back. `table`: fw4's, where it has just been listed. @throws OpenwrtError
   */
  reloaded: (look: Look, packages: readonly string[], table?: string) => Promise<KernelLook>;
  /** Why nobody looks; undefined where somebody does. */
  whyUnread: () => string | undefined;
  /** Undefined where nobody looks. */
  table: () => LoadedTable | undefined;
  /** Free space, as of the last look. Undefined where nobody looks, or `df` does not say. */
  space: () => Space | undefined;
  /** Differs when what is lacking does. */
  version: () => string;
};

const FW4 = 'table inet fw4';
/** One for each family of addresses, where iptables makes rules of nft. */
const MWAN3 = 'chain mwan3_hook';
const HASH = /^[0-9a-f]{32}/m;
const CHARON = /^charon /;
/** A line of `df -Pk`: file system, size, used, available, in kilobytes. */
const FREE = /^\S.* +\d+ +\d+ +(\d+) +\d+% /;

const NOTHING_FOUND: KernelLook = { lacking: new Map(), incomparable: new Map() };

type Seen = {
  hash: string;
  routing: string;
  hasFw4: boolean;
  hooks: number;
  /** The line about its process: another one has loaded nothing yet. */
  charon: string;
  space: Space | undefined;
};

export const createKernel = (clock: Pick<Clock, 'monotonic'>): Kernel => {
  /** Why nobody looks. */
  let unread: string | undefined = 'the agent has not looked yet';
  let lookedAt = -Infinity;
  /** What `begin` was given, for the first look of the session. */
  let ahead: Answer | undefined;
  let seen: Seen = { hash: '', routing: '', hasFw4: false, hooks: 0, charon: '', space: undefined };
  /** As they were after mwan3's last reload by us, or first seen. */
  let expectedHooks: number | undefined;
  let thorough = { at: -Infinity, hash: '', text: '', rules: new Map() as NftRules };
  /** As they were after the firewall's last reload by us, or first seen. */
  let expected: NftRules | undefined;
  let last: KernelLook = NOTHING_FOUND;
  const inRouting = sameAgain(lackingRouting);
  const inRules = sameAgain(lackingRules);
  let mwan3: Mwan3Seen = NOT_LOOKED;
  const inMwan3 = sameAgain(lackingMwan3);
  let charon: CharonSeen = NOT_ASKED;
  const inCharon = sameAgain(lackingTunnels);

  /** The hash that the verb has printed, '' where there is nothing to look for, and its other lines; undefined: nobody looks any more. */
  const run = async (
    { session, signal }: Look,
    verb: 'state' | 'dump' | 'mwan3',
  ): Promise<{ hash: string; lines: readonly string[] } | undefined> => {
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

  const readState = async (look: Look): Promise<void> => {
    lookedAt = clock.monotonic();
    const state = await run(look, 'state');
    if (state === undefined) return;
    const { hash, lines } = state;
    const isKnown = hash === '' || hash === seen.hash;
    const routing = isKnown ? hash && seen.routing : await found(look.session, hash, look.signal);
    const linesWith = (word: string): number => lines.filter((line) => line.includes(word)).length;
    const space = spaceIn(lines);
    const hasFw4 = linesWith(FW4) > 0;
    const charonNow = lines.find((line) => CHARON.test(line)) ?? '';
    seen = { hash, routing, hasFw4, hooks: linesWith(MWAN3), charon: charonNow, space };
    expectedHooks ??= seen.hooks;
  };

  const readRules = async (look: Look): Promise<void> => {
    const dump = await run(look, 'dump');
    if (dump === undefined) return;
    const { hash } = dump;
    if (hash === thorough.hash) thorough = { ...thorough, at: clock.monotonic() };
    else hold(hash, await found(look.session, hash, look.signal));
    expected ??= thorough.rules;
  };
  const hold = (hash: string, text: string): void => {
    const rules = nftRulesIn(withoutHandles(text));
    thorough = { at: clock.monotonic(), hash, text, rules };
  };

  const readMwan3 = async (look: Look): Promise<void> => {
    const answer = await run(look, 'mwan3');
    if (answer === undefined) return;
    const { hash } = answer;
    const isKnown = hash === '' || hash === mwan3.hash;
    const text = isKnown ? mwan3.text : await found(look.session, hash, look.signal);
    // One that is being reloaded is looked at again as soon as may be.
    mwan3 = { at: hash === '' ? -Infinity : clock.monotonic(), hash, text, sections: undefined };
  };
  const isMwan3Due = ({ contents }: Look): boolean => {
    const now = contents('mwan3');
    // Until the packages are read, its hooks tell whether there is anything to look for.
    if (seen.hooks === 0 && now.length === 0) return false;
    const hasChanged = mwan3.sections !== undefined && mwan3.sections !== now;
    return hasChanged || clock.monotonic() - mwan3.at >= THOROUGH_LOOK_MS;
  };

  const readCharon = async ({ session, signal }: Look): Promise<void> => {
    const answer = await runVerb(session, 'tunnels', signal);
    const told = 'stdout' in answer ? answer.stdout : undefined;
    charon = { at: told === undefined ? -Infinity : clock.monotonic(), of: seen.charon, told };
  };
  const isCharonDue = ({ contents, capabilities }: Look): boolean => {
    if (capabilities.ipsec.dialect !== 'swanctl') return false;
    const isOld = clock.monotonic() - charon.at >= THOROUGH_LOOK_MS;
    return seen.charon !== charon.of || (isOld && contents('ipsec').length > 0);
  };

  const compare = ({ contents, capabilities }: Look): KernelLook => {
    const firewall = contents('firewall');
    const { sections = contents('mwan3'), text } = mwan3;
    mwan3 = { ...mwan3, sections };
    const ofMwan3 = seen.hooks >= (expectedHooks ?? 0) ? inMwan3(sections, text) : undefined;
    const hasTable = capabilities.firewall !== 'fw4' || seen.hasFw4;
    const found: [string, Compared][] = [
      ['network', inRouting(contents('network'), seen.routing)],
      [
        'firewall',
        hasTable ? inRules(firewall, expected, thorough.rules) : allOf(firewall, `nft's ${FW4}`),
      ],
      ['mwan3', ofMwan3 ?? allOf(sections, "mwan3's rules in nft's table mangle")],
      ['ipsec', charon.of === '' ? NOTHING_LACKS : inCharon(contents('ipsec'), charon.told)],
    ];
    const part = (key: keyof Compared): BySection =>
      new Map(
        found.flatMap(([name, { [key]: sections }]) =>
          sections.size > 0 ? [[name, sections]] : [],
        ),
      );
    const refused = new Map(ofMwan3 && [['mwan3', ofMwan3.refused]]);
    const passing = new Set(['ipsec', ...(text === undefined ? ['mwan3'] : [])]);
    last = {
      lacking: part('lacking'),
      incomparable: part('incomparable'),
      passing,
      refused,
      unread,
    };
    return last;
  };

  const see = async (at: Look): Promise<void> => {
    if (unread === undefined) await readState(at);
    const isDue = clock.monotonic() - thorough.at >= THOROUGH_LOOK_MS;
    if (unread === undefined && isDue && seen.hasFw4) await readRules(at);
    if (unread === undefined && isMwan3Due(at)) await readMwan3(at);
    if (unread === undefined && isCharonDue(at)) await readCharon(at);
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
      if (packages.includes('mwan3')) {
        expectedHooks = undefined;
        mwan3 = NOT_LOOKED;
      }
      if (packages.includes('ipsec')) charon = NOT_ASKED;
      if (packages.includes('firewall')) {
        expected = undefined;
        thorough = { ...thorough, at: -Infinity };
        if (table !== undefined) {
          hold(createHash('md5').update(table).digest('hex'), table);
          expected = thorough.rules;
        }
      }
      const after = await look(at);
      if (!after.lacking.has('network')) return after;
      await runVerb(at.session, 'restore-routes', at.signal);
      return look(at);
    },
    whyUnread: () => unread,
    table: () => {
      const { text, rules } = thorough;
      return unread === undefined && expected ? { text, rules, expected } : undefined;
    },
    space: () => (unread === undefined ? seen.space : undefined),
    version: () =>
      JSON.stringify(
        [last.lacking, last.incomparable, last.refused ?? []].map((some) =>
          [...some].map(([name, sections]) => [name, ...sections]),
        ),
      ),
  };
};

type Mwan3Seen = {
  at: number;
  hash: string;
  /** Undefined: the agent has not looked yet, or mwan3 was being reloaded each time it did. */
  text: string | undefined;
  /** What `text` is compared with until it is read again; undefined: the package as it is read next. */
  sections: readonly UciSection[] | undefined;
};
/** `of`: the line about its process. `told`: by verb `tunnels`; undefined: charon did not answer. */
type CharonSeen = { at: number; of: string; told: string | undefined };
const NOT_ASKED: CharonSeen = { at: -Infinity, of: '', told: undefined };

const NOT_LOOKED: Mwan3Seen = { at: -Infinity, hash: '', text: undefined, sections: undefined };

const lackingMwan3 = (sections: readonly UciSection[], text: string | undefined): Mwan3Compared =>
  compareMwan3(sections, () => {
    if (text === undefined) throw new Error('mwan3 is being reloaded');
    return readIptables(text);
  });

type Answer = Awaited<ReturnType<typeof runVerb>>;

const spaceIn = (lines: readonly string[]): Space | undefined => {
  const free = lines.flatMap((line) => {
    const kilobytes = FREE.exec(line)?.[1];
    return kilobytes === undefined ? [] : [Number(kilobytes) * 1024];
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

const allOf = (sections: readonly UciSection[], what: string): Compared =>
  compareSections(sections, () => () => what);

/** The last result, for as long as its inputs are the same. */
const sameAgain = <Given extends readonly unknown[], Result>(
  compute: (...given: Given) => Result,
): ((...given: Given) => Result) => {
  let last: { given: Given; result: Result } | undefined;
  return (...given) => {
    const isSame = last?.given.every((value, at) => value === given[at]) === true;
    last = last !== undefined && isSame ? last : { given, result: compute(...given) };
    return last.result;
  };
};
