/**
 * What the kernel holds of package network's routes and rules. As measured: netifd sets what is new
 * in a reload, and takes away what is gone, by its own memory; what another program has taken out
 * of the kernel stays out. It accepts a route through a gateway that no interface reaches, and the
 * kernel never gets it. A reload of mwan3 takes routes and rules of its ranges with it, of any
 * origin.
 */
import { UciError } from '../uci/errors.ts';
import type { UciSection } from '../uci/package.ts';
import type { UciStore } from '../uci/store.ts';

type Entry = { list: 'routes' | 'inet' | 'inet6'; line: string; place: number };

/** With mask 0x3F00 and its usual settings. */
const isMwan3s = ({ list, place }: Entry): boolean =>
  list === 'routes' ? place >= 1 && place <= 60 : place >= 1_000 && place <= 3_999;

export class Netifd {
  readonly #store: UciStore;
  #known: ReadonlyMap<string, Entry> = new Map();
  #kernel = new Map<string, Entry>();

  constructor(store: UciStore) {
    this.#store = store;
  }

  /** A container that starts anew finds the kernel of its pod, and netifd clears it. */
  boot(): void {
    this.#known = new Map();
    this.#kernel = new Map();
    this.reload();
  }

  reload(): void {
    const wanted = this.#wanted(() => true);
    for (const line of this.#known.keys()) if (!wanted.has(line)) this.#kernel.delete(line);
    for (const [line, entry] of wanted) if (!this.#known.has(line)) this.#kernel.set(line, entry);
    this.#known = wanted;
  }

  /** The helper's verb. */
  restore(): void {
    for (const [line, entry] of this.#wanted((name) => name.startsWith('sdewan_')))
      this.#kernel.set(line, entry);
  }

  /** What a reload of mwan3 begins with. */
  flushByMwan3(): void {
    for (const [line, entry] of this.#kernel) if (isMwan3s(entry)) this.#kernel.delete(line);
  }

  /** As `ip route del` and `ip rule del`: all lines with these words. */
  remove(words: string): void {
    for (const line of this.#kernel.keys()) if (line.includes(words)) this.#kernel.delete(line);
  }

  /** Lines of `ip route show table all`, `ip -4 rule` and `ip -6 rule`. */
  shown(): Readonly<Record<Entry['list'], readonly string[]>> {
    const of = (list: Entry['list']): string[] =>
      [...this.#kernel.values()]
        .filter((entry) => entry.list === list)
        .toSorted((a, b) => a.place - b.place)
        .map(({ line }) => line);
    return {
      routes: of('routes'),
      inet: ['0:\tfrom all lookup local', ...of('inet'), '32766:\tfrom all lookup main'],
      inet6: ['0:\tfrom all lookup local', ...of('inet6'), '32766:\tfrom all lookup main'],
    };
  }

  #wanted(isMeant: (name: string) => boolean): ReadonlyMap<string, Entry> {
    const sections = this.#sections();
    const entries = sections
      .filter(({ name }) => isMeant(name))
      .flatMap((section, order) => entryOf(section, sections, order + 1) ?? []);
    return new Map(entries.map((entry) => [`${entry.list} ${entry.line}`, entry]));
  }

  #sections(): readonly UciSection[] {
    try {
      return this.#store.load('network').package.sections;
    } catch (error) {
      if (error instanceof UciError) return [];
      throw error;
    }
  }
}

const entryOf = (
  section: UciSection,
  all: readonly UciSection[],
  order: number,
): Entry | undefined => {
  const { type } = section;
  if (type === 'route' || type === 'route6') return routeOf(section, all);
  if (type !== 'rule' && type !== 'rule6') return undefined;
  const option = optionOf(section);
  const place = Number(option('priority') ?? order);
  const not = option('invert') === '1' ? 'not ' : '';
  const to = worded('to', option('dest')) + worded('fwmark', hex(option('mark')));
  const line = `${place}:\t${not}from ${option('src') ?? 'all'}${to} lookup ${option('lookup')}`;
  return { list: type === 'rule' ? 'inet' : 'inet6', line, place };
};

const routeOf = (section: UciSection, all: readonly UciSection[]): Entry | undefined => {
  const option = optionOf(section);
  const links = all.filter(({ type }) => type === 'interface');
  const link = links.find(({ name }) => name === option('interface'));
  const device = link && optionOf(link)('device');
  const onDevice = links.filter((other) => optionOf(other)('device') === device);
  const gateway = option('gateway');
  if (link === undefined || !onDevice.some((other) => reaches(other, gateway))) return undefined;
  const table = option('table');
  const line = `${shownTarget(option('target') ?? '')}${worded('via', gateway)} dev ${device}${worded('table', table)}`;
  return {
    list: 'routes',
    line: section.type === 'route6' ? `${line} metric 1024 pref medium` : line,
    place: Number(table ?? 254),
  };
};

const shownTarget = (target: string): string =>
  ['0.0.0.0/0', '::/0'].includes(target) ? 'default' : target.replace(/\/32$|\/128$/, '');

/** An interface whose addresses are not in its configuration counts as reaching everything. */
const reaches = (link: UciSection, gateway: string | undefined): boolean => {
  const address = optionOf(link)('ipaddr');
  if (gateway === undefined || gateway.includes(':') || address === undefined) return true;
  const mask = numberOf(optionOf(link)('netmask') ?? '255.255.255.255');
  return (numberOf(gateway) & mask) === (numberOf(address) & mask);
};

const numberOf = (address: string): bigint =>
  address.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n);

const hex = (mark: string | undefined): string | undefined =>
  mark
    ?.split('/')
    .map((number) => `0x${Number(number).toString(16)}`)
    .join('/');

const worded = (word: string, value: string | undefined): string =>
  value === undefined ? '' : ` ${word} ${value}`;

const optionOf =
  ({ options }: UciSection) =>
  (name: string): string | undefined => {
    const value = options.get(name);
    return typeof value === 'string' ? value : undefined;
  };
