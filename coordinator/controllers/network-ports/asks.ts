/**
 * What a pod asks for in its annotations: which interfaces in which networks, in the form of Nodus
 * and in both forms of Multus, and the same annotations with the addresses that it is given. Pure.
 */
import * as z from 'zod';
import { deviceName, isEmpty, readSelections, type Selection } from '#shared/compile/multus.ts';
import { NETWORKS_ANNOTATION, NFN_NETWORK_ANNOTATION } from '#shared/names.ts';
import { familyOf, withoutLength } from '#shared/policy/address-blocks.ts';
import { firstIssue } from '#shared/util/first-issue.ts';
import { jsonIn } from '#shared/util/json.ts';

/** The two annotations; of one that is longer than `MAX_ASK_LENGTH` its beginning. */
export type AskTexts = { nfn?: string | undefined; multus?: string | undefined };

export type Ask = {
  by: 'nodus' | 'multus';
  /** In its list. */
  at: number;
  /** As the pod calls the network: a name of Nodus, or `namespace/name`. */
  name: string;
  interface: string;
  /** Addresses that it wants, and no others. */
  fixed: readonly string[];
  mac: string | undefined;
};
export type Asks = { asks: readonly Ask[] } | { problem: string };

const MAX_ENTRIES = 32;
/** Characters of each annotation: it is kept as long as the pod waits. */
export const MAX_ASK_LENGTH = 8_192;
const MAC = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i;

const name = z.string().min(1).max(317);
const nodusEntry = z.looseObject({
  name,
  // Its claim is found by it, and of half of a character the API server keeps another.
  interface: deviceName,
  ipAddress: z.string().max(128).optional(),
  macAddress: z.string().max(17).optional(),
});
const nodusSchema = z.looseObject({ interface: z.array(nodusEntry).max(MAX_ENTRIES) });

/** `namespace`: of the pod. */
export const asksIn = (texts: AskTexts, namespace: string): Asks => {
  const long = [texts.nfn, texts.multus].findIndex((text = '') => text.length > MAX_ASK_LENGTH);
  if (long !== -1)
    return {
      problem: `${annotationOf(long === 0 ? 'nodus' : 'multus')}: has more than ${MAX_ASK_LENGTH} characters`,
    };
  const nodus = nodusAsks(texts.nfn);
  if ('problem' in nodus) return nodus;
  const multus = multusAsks(texts.multus, namespace);
  if ('problem' in multus) return multus;
  const ofNodus = new Set(nodus.asks.map((one) => one.interface));
  // ICN's CNFs name there the attachment by which Nodus makes its interfaces, and none of its own.
  const others = multus.asks.filter((one) => one.isNamed || !ofNodus.has(one.interface));
  const asks = [...nodus.asks, ...others.map(({ isNamed: _named, ...one }) => one)];
  for (const [at, one] of asks.entries()) {
    const where = `${annotationOf(one.by)}, interface ${one.interface}`;
    if (asks.findIndex((other) => other.interface === one.interface) !== at)
      return { problem: `${where}: there is another one of that name` };
    if (one.mac !== undefined && !MAC.test(one.mac))
      return { problem: `${where}: ${one.mac} is no MAC` };
    const wrong = one.fixed.find((text) => familyOf(withoutLength(text)) === undefined);
    if (wrong !== undefined) return { problem: `${where}: ${wrong} is no address` };
  }
  return { asks };
};

/** None of annotations that cannot be read. */
export const asksOf = (texts: AskTexts, namespace: string): readonly Ask[] => {
  const read = asksIn(texts, namespace);
  return 'asks' in read ? read.asks : [];
};

const annotationOf = (by: Ask['by']): string =>
  by === 'nodus' ? NFN_NETWORK_ANNOTATION : NETWORKS_ANNOTATION;

const nodusAsks = (text: string | undefined): Asks => {
  if (isEmpty(text)) return { asks: [] };
  const { data, error } = nodusSchema.safeParse(jsonIn(text));
  if (data === undefined) return { problem: `${NFN_NETWORK_ANNOTATION}: ${firstIssue(error)}` };
  return {
    asks: data.interface.map((entry, at) => ({
      by: 'nodus',
      at,
      name: entry.name,
      interface: entry.interface,
      fixed: (entry.ipAddress ?? '').split(/[ ,]+/).filter((each) => each !== ''),
      mac: entry.macAddress || undefined,
    })),
  };
};

/** `isNamed`: the annotation says how the interface is called. */
type MultusAsks = { asks: readonly (Ask & { isNamed: boolean })[] } | { problem: string };

const multusAsks = (text: string | undefined, namespace: string): MultusAsks => {
  const entries = multusEntries(text);
  if ('problem' in entries) return entries;
  return {
    asks: entries.map((entry, at) => ({
      by: 'multus',
      at,
      name: `${entry.namespace || namespace}/${entry.name}`,
      // As Multus calls those without a name.
      interface: entry.interface || `net${at + 1}`,
      isNamed: Boolean(entry.interface),
      fixed: entry.ips ?? [],
      mac: entry.mac || undefined,
    })),
  };
};

const multusEntries = (text: string | undefined): Selection[] | { problem: string } => {
  const read = readSelections(text);
  if ('problem' in read) return { problem: `${NETWORKS_ANNOTATION}: ${read.problem}` };
  return read.length > MAX_ENTRIES
    ? { problem: `${NETWORKS_ANNOTATION}: has more than ${MAX_ENTRIES} entries` }
    : read;
};

/** An entry of Nodus' list without an address gets that of the entry before it. */
export const inheriting = (
  asks: readonly Ask[],
  isManaged: (name: string) => boolean,
): string | undefined => {
  const nodus = asks.filter(({ by }) => by === 'nodus');
  const first = nodus.findIndex(({ name: of }) => isManaged(of));
  if (first === -1) return undefined;
  return nodus
    .slice(first)
    .find(({ name: of, fixed, mac }) => !isManaged(of) && (fixed.length === 0 || mac === undefined))
    ?.interface;
};

/** `lengths`: the addresses with the length of the prefix, as Multus wants them. */
export type Given = {
  ask: Ask;
  addresses: readonly string[];
  lengths: readonly string[];
  mac: string;
};

/** The annotations with what is given; those of which nothing is given are left out. */
export const filled = (texts: AskTexts, given: readonly Given[]): Record<string, string> => {
  const { nodus = [], multus = [] } = Object.groupBy(given, ({ ask }) => ask.by);
  return {
    ...(nodus.length > 0 && { [NFN_NETWORK_ANNOTATION]: nodusFilled(texts.nfn ?? '', nodus) }),
    ...(multus.length > 0 && { [NETWORKS_ANNOTATION]: multusFilled(texts.multus, multus) }),
  };
};

const nodusFilled = (text: string, given: readonly Given[]): string => {
  const whole = nodusSchema.parse(jsonIn(text));
  const entries = whole.interface.map((entry, at) => {
    const one = given.find(({ ask }) => ask.at === at);
    return one ? { ...entry, ipAddress: one.addresses.join(' '), macAddress: one.mac } : entry;
  });
  // All else as it stands there, in its order.
  return JSON.stringify({ ...z.looseObject({}).parse(jsonIn(text)), interface: entries });
};

const multusFilled = (text: string | undefined, given: readonly Given[]): string => {
  const entries = multusEntries(text);
  if ('problem' in entries) throw new Error(entries.problem);
  return JSON.stringify(
    entries.map((entry, at) => {
      const one = given.find(({ ask }) => ask.at === at);
      return one ? { ...entry, ips: one.lengths, mac: one.mac } : entry;
    }),
  );
};
