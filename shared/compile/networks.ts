/**
 * What a CNF pod is attached to, as its annotations say: `nfn-network`, which Nodus and the agent
 * read, and those of Multus. Nodus' networks have plain names, attachments of Multus
 * `namespace/name`, and `name` in the pod's own namespace, with `@interface` or without.
 */
import * as z from 'zod';
import {
  NETWORK_STATUS_ANNOTATION,
  NETWORKS_ANNOTATION,
  NFN_NETWORK_ANNOTATION,
} from '../names.ts';
import { own } from '../util/own.ts';
import { deviceName, isEmpty, readSelections, readStatus } from './multus.ts';
import type { NetworkMeaning, NetworkTable, PodNetworks } from './types.ts';
import { parseUntrusted } from '../util/untrusted.ts';

const nodusSchema = z.looseObject({
  interface: z.array(z.looseObject({ name: z.string().min(1), interface: deviceName })),
});

/**
 * Network name -> interface name; the first entry of a name counts, as in ICN. Empty without an
 * annotation.
 * @throws Error when there is an annotation that cannot be read
 */
export const parseNetworks = (annotation: string | undefined): NetworkTable => {
  if (isEmpty(annotation)) return new Map();
  const table = new Map<string, string>();
  const { data, error } = parseUntrusted(nodusSchema, JSON.parse(annotation));
  if (error) throw error;
  for (const entry of data.interface)
    if (!table.has(entry.name)) table.set(entry.name, entry.interface);
  return table;
};

/** `name`: with its namespace. `interface`: as asked for, or as Multus says it is. */
export type Attachment = { name: string; interface: string | undefined };

/** What `networks` selects. @throws Error when it cannot be read */
export const parseSelections = (annotation: string | undefined, namespace: string): Attachment[] =>
  readable(readSelections(annotation)).map((one) => ({
    name: `${one.namespace || namespace}/${one.name}`,
    interface: one.interface || undefined,
  }));

/** What `network-status` says. @throws Error when it cannot be read */
export const parseNetworkStatus = (
  annotation: string | undefined,
  namespace: string,
): Attachment[] =>
  readable(readStatus(annotation)).map((one) => ({
    name: fullIn(namespace, one.name),
    interface: one.interface || undefined,
  }));

const readable = <T>(read: T[] | { problem: string }): T[] => {
  if ('problem' in read) throw new Error(read.problem);
  return read;
};

export type AttachedTo = {
  namespace: string;
  nodus: NetworkTable;
  selected: readonly Attachment[];
  status: readonly Attachment[];
};

export const podNetworksOf = ({ namespace, nodus, selected, status }: AttachedTo): PodNetworks => {
  const meanings = new Map<string, NetworkMeaning[]>();
  const add = (name: string, meaning: NetworkMeaning): void => {
    meanings.set(name, [...(meanings.get(name) ?? []), meaning]);
  };
  for (const [name, device] of nodus) add(name, { title: `${name} of Nodus`, interface: device });
  const all = attached(selected, status);
  for (const { name, asked, interface: device } of all) {
    const meaning = { title: device ? `${name}@${device}` : name, interface: device };
    for (const base of new Set([name, shortIn(namespace, name)])) {
      add(base, meaning);
      for (const suffix of new Set([asked, device])) if (suffix) add(`${base}@${suffix}`, meaning);
    }
  }
  const networks = new Map<string, string>();
  const unresolved = new Map<string, readonly NetworkMeaning[]>();
  for (const [name, known] of meanings) {
    const devices = new Set(known.map((one) => one.interface ?? one));
    const [device] = devices;
    if (devices.size === 1 && typeof device === 'string') networks.set(name, device);
    else unresolved.set(name, known);
  }
  const names = [...nodus.keys(), ...all.map(({ name }) => shortIn(namespace, name))];
  return { networks, unresolved, networkNames: [...new Set(names)].sort() };
};

/** As it is called in the pod's own namespace. */
export const shortIn = (namespace: string, name: string): string =>
  name.startsWith(`${namespace}/`) ? name.slice(namespace.length + 1) : name;

/** With its namespace. */
export const fullIn = (namespace: string, name: string): string =>
  name.includes('/') ? name : `${namespace}/${name}`;

export const withoutInterface = (name: string): string => name.replace(/@.*/, '');

/** What is selected, with the interface that it has got, and what else Multus has attached. */
const attached = (
  selected: readonly Attachment[],
  status: readonly Attachment[],
): (Attachment & { asked?: string | undefined })[] => {
  const left = [...status];
  const take = (isIt: (one: Attachment) => boolean): Attachment | undefined => {
    const at = left.findIndex(isIt);
    return at < 0 ? undefined : left.splice(at, 1)[0];
  };
  const exact = selected.map(({ name, interface: asked }) =>
    take((one) => asked !== undefined && one.name === name && one.interface === asked),
  );
  const matched = selected.map(({ name, interface: asked }, at) => {
    const got = exact[at] ?? take((one) => one.name === name);
    return { name, asked, interface: got?.interface ?? asked };
  });
  return [...matched, ...left];
};

/** The annotations themselves, which may be wrong. */
export type NetworkTexts = {
  namespace: string;
  nodus: string | undefined;
  selections: string | undefined;
  status: string | undefined;
};

/** Length of lists of networks and of namespaces; a longer one does not count. */
const MAX_LIST_LENGTH = 16_384;

export const ifShort = (text: string | undefined): string | undefined =>
  text !== undefined && text.length > MAX_LIST_LENGTH ? undefined : text;

/** Undefined where nothing is said of networks. */
export const networkTextsIn = (
  annotations: Readonly<Record<string, string>> | null | undefined,
  namespace: string,
): NetworkTexts | undefined => {
  const [nodus, selections, status] = [
    NFN_NETWORK_ANNOTATION,
    NETWORKS_ANNOTATION,
    NETWORK_STATUS_ANNOTATION,
  ].map((name) => ifShort(own(annotations ?? {}, name)));
  return nodus === undefined && selections === undefined
    ? undefined
    : { namespace, nodus, selections, status };
};

/** @throws Error when one of them cannot be read */
export const networksIn = (texts: NetworkTexts | undefined): PodNetworks =>
  texts === undefined
    ? { networks: new Map() }
    : podNetworksOf({
        namespace: texts.namespace,
        nodus: parseNetworks(texts.nodus),
        selected: parseSelections(texts.selections, texts.namespace),
        status: parseNetworkStatus(texts.status, texts.namespace),
      });
