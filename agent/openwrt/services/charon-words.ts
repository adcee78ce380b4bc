/**
 * What charon has said of remotes whose tunnels are down, of what its log on OpenWRT holds. A line
 * names no remote: a thread of charon's does one job after the other, and some line of each job has
 * the address of the other side, or the remote's name (seen with charon 5.9.8).
 */
import type { Information } from '#shared/protocol/information.ts';
import { listOf } from '#shared/resources/render.ts';
import type { UciSection } from '#shared/uci/model.ts';

const LINE = /\b(\d+)\[([A-Z]+)\] (.+)/;
const SUBJECTS = [
  /\bIKE_SA (\S+)\[\d+\]/,
  /^received packet: from ([\d.]+|[\da-f:]+)\[/,
  /^unable to resolve (\S+), initiate aborted$/,
  /^sending packet: from \S+ to ([\d.]+|[\da-f:]+)\[/,
];
const UNPRINTABLE = /[^ -~]+/g;

/** By remote's name, or by address; what was said last stands last. */
export const lastWordsIn = (log: string): ReadonlyMap<string, string> => {
  const words = new Map<string, string>();
  let job = { thread: '', subject: '', said: '' };
  for (const line of log.split('\n')) {
    const [, thread = '', group, text] = LINE.exec(line) ?? [];
    if (text === undefined) continue;
    if (thread !== job.thread || text.startsWith('received packet'))
      job = { thread, subject: '', said: '' };
    job.subject = subjectIn(text) ?? job.subject;
    if (group !== 'NET') job.said = text.replaceAll(UNPRINTABLE, ' ').trim().slice(0, 128);
    if (job.subject === '' || job.said === '') continue;
    words.delete(job.subject);
    words.set(job.subject, job.said);
  }
  return words;
};

const subjectIn = (text: string): string | undefined =>
  SUBJECTS.map((pattern) => pattern.exec(text)?.[1]).find((subject) => subject !== undefined);

type Tunnels = Information['tunnels'];

export const isWaitedFor = ({ starts, up }: Tunnels[number]): boolean => starts === true && !up;

/** `ipsec`: the package, which says what the other sides' addresses are. */
export const withWords = (
  tunnels: Tunnels,
  ipsec: readonly UciSection[],
  words: ReadonlyMap<string, string>,
): Tunnels => {
  const latest = [...words].reverse();
  const wordsOf = new Map(
    ipsec.flatMap(({ type, name, options: { remote_addrs, gateway } }): [string, string][] => {
      if (type !== 'remote') return [];
      const subjects = new Set([name, ...listOf(remote_addrs), ...listOf(gateway)]);
      const said = latest.find(([subject]) => subjects.has(subject))?.[1];
      return said === undefined ? [] : [[name, said]];
    }),
  );
  return tunnels.map((tunnel) => {
    const said = wordsOf.get(tunnel.name.slice(0, tunnel.name.indexOf('-')));
    return isWaitedFor(tunnel) && said !== undefined ? { ...tunnel, words: said } : tunnel;
  });
};
