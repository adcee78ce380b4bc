/**
 * What must hold at every moment, whatever fails: judged afterwards, from what the API server said
 * and what the devices' journals say.
 */
import { sectionNamesOf, expectedOf } from './sections.ts';
import type { Device, Devices } from './devices.ts';
import type { RuleSighting, SeenPod, SeenRule, Watch } from './watch.ts';
import type { Word } from '../vocabulary.ts';

/** What time the product has from a change of a device to what it says. */
const GRACE = {
  /** Five seconds without an answer, or a second with other content, and the way. */
  staysMs: 7_000,
  /**
   * A report and a status that are under way, on a machine that does much else (409 ms were seen);
   * test/faults/walks gives six seconds.
   */
  newlyMs: 1_000,
};
/**
 * A request that was sent before the API server stood still is carried out so long after it goes
 * on.
 */
const CARRIED_OUT_MS = 500;
/** As docs/admission.md names it. */
const FINALIZER = 'sdewan.akraino.org/agents';
/** The coordinator may learn of a pod later than we. */
const NEW_POD_MS = 1_000;

type Facts = {
  watch: Watch;
  devices: Pick<Devices, 'of'>;
  wordOf: (id: string) => Word | undefined;
  /** From when to when the API server, or what it stands on, stood still. */
  stoodStill?: readonly Still[];
  /** How long before the device has something in force a status may say so. */
  earlyMs?: number | undefined;
};

export type Still = readonly [from: number, to: number];

/**
 * By rule, which generation of which object it says that it is in sync with. Kept from one
 * judgement to the next.
 */
export type SaysInSync = Map<string, string>;

/** All that was seen since the last time, in words. */
export const violationsIn = (
  sightings: readonly RuleSighting[],
  facts: Facts,
  saysInSync: SaysInSync,
): string[] =>
  sightings.flatMap((sighting) => {
    const found = [...earlyFinalizer(sighting, facts), ...falseStatus(sighting, facts, saysInSync)];
    remember(sighting, saysInSync);
    return found;
  });

/** What rules say that others have to answer for: where judgement begins. */
export const saidIn = (sightings: readonly RuleSighting[]): SaysInSync => {
  const saysInSync: SaysInSync = new Map();
  for (const sighting of sightings) remember(sighting, saysInSync);
  return saysInSync;
};

const isHeld = (rule: SeenRule | undefined): boolean =>
  rule?.metadata.finalizers.includes(FINALIZER) ?? false;

const earlyFinalizer = ({ at, id, before, now }: RuleSighting, facts: Facts): string[] => {
  const word = facts.wordOf(id);
  if (!word || !isHeld(before) || isHeld(now)) return [];
  return livePods(facts.watch, at).flatMap((pod) => {
    const device = facts.devices.of(pod.uid);
    if (!device?.ranAt(at)) return [];
    const held = device.timeline.namesHeld(word.package, sectionNamesOf(word), at);
    return held.length === 0
      ? []
      : [`${clock(at)} the finalizer of ${id} is gone while ${pod.name} has ${held.join(', ')}`];
  });
};

/** There for the API server, and not finished. */
const livePods = (watch: Watch, at: number): SeenPod[] =>
  watch
    .pods()
    .filter(
      ({ since, goneAt = Infinity, finishedSince = Infinity }) =>
        since <= at && at < goneAt && at < finishedSince,
    );

/** Which generation of which object a rule says that it is in sync with. */
const saidBy = (rule: SeenRule | undefined): string | undefined =>
  rule?.status?.inSync === true
    ? `${rule.metadata.uid} ${rule.status.observedGeneration}`
    : undefined;

const remember = ({ id, now }: RuleSighting, saysInSync: SaysInSync): void => {
  const said = saidBy(now);
  if (said === undefined) saysInSync.delete(id);
  else saysInSync.set(id, said);
};

/**
 * What was sent before the API server stood still cannot be taken back: what is not so when it is
 * seen is judged as of that moment.
 */
const sentAt = (at: number, stoodStill: readonly Still[] = []): number =>
  stoodStill.find(([from, to]) => from <= at && at <= to + CARRIED_OUT_MS)?.[0] ?? at;

const falseStatus = (
  { at: seenAt, id, before, now }: RuleSighting,
  facts: Facts,
  saysInSync: SaysInSync,
): string[] => {
  const at = sentAt(seenAt, facts.stoodStill);
  const word = facts.wordOf(id);
  const said = saidBy(now);
  const isWritten = JSON.stringify(before?.status) !== JSON.stringify(now?.status);
  if (!word || !now || said === undefined || !isWritten) return [];
  const spec = facts.watch.specOf(now.metadata.uid, now.status?.observedGeneration ?? 0);
  const texts = expectedOf(word, spec);
  if (!texts) return [];
  // A reader of an older generation knows that it was so; that the device has a newer one by then
  // is no lie.
  const isOfNow = now.status?.observedGeneration === now.metadata.generation;
  const newly = isOfNow && saysInSync.get(id) !== said;
  const counted = livePods(facts.watch, at).filter(
    ({ purpose, since, terminatingSince = Infinity }) =>
      purpose === now.purpose && at < terminatingSince && since < at - NEW_POD_MS,
  );
  return counted.flatMap((pod) => {
    const lackedAt = (moment: number): number =>
      lacked(facts.devices.of(pod.uid), word, { texts, at: moment });
    const forMs = Math.min(lackedAt(at), lackedAt(seenAt + (facts.earlyMs ?? 0)));
    return forMs <= (newly ? GRACE.newlyMs : GRACE.staysMs)
      ? []
      : [
          `${clock(seenAt)} ${id} is ${newly ? 'newly' : 'still'} in sync, and ${pod.name} has lacked it for ${forMs} ms`,
        ];
  });
};

const lacked = (
  device: Device | undefined,
  { package: name }: Word,
  { texts, at }: { texts: readonly string[]; at: number },
): number => device?.timeline.lackedMs(name, texts, at) ?? Infinity;

const clock = (ms: number): string => new Date(ms).toISOString().slice(11, 23);
