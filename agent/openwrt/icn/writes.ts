/**
 * The calls that bring collections to what is wanted, one after the other, and what each of them
 * really did: the API answers 201 for what it did not store. What a refused call leaves, half an
 * object or after a PUT none, the next listing shows, and the pass repairs it like any other
 * difference.
 */
import * as z from 'zod';
import type { Clock } from '#shared/runtime/clock.ts';
import { sectionsEqual } from '#shared/uci/delta.ts';
import type { UciDelta, UciSection } from '#shared/uci/model.ts';
import { COLLECTIONS, collectionOf, type Collection, type Write } from './collections.ts';
import {
  expectStatus,
  isOfTheMoment,
  RETRY_AFTER_MS,
  type RestAnswer,
  type RestCall,
  type RestClient,
} from './client.ts';
import { bodyOf, sectionOf } from './objects.ts';
import { REMOTES, withoutVti } from './vti.ts';

/**
 * First what no other refers to goes, then all that is wanted comes, what others refer to first,
 * then what no other refers to any more goes: REST refuses both references to what is not there and
 * removing what is in use.
 */
export const writesOf = (
  deltas: readonly UciDelta[],
  there: (packageName: string) => readonly UciSection[],
): readonly Write[] => {
  const byPackage = new Map(deltas.map((delta) => [delta.package, delta]));
  const inOrder = COLLECTIONS.flatMap((collection) => {
    const delta = byPackage.get(collection.package);
    return delta ? [{ collection, delta }] : [];
  });
  const removals = inOrder.flatMap(({ collection, delta }) => {
    const kept = new Set(delta.append.map(({ name }) => name));
    return delta.remove
      .filter((name) => !kept.has(name))
      .map((name): Write => ({ verb: 'DELETE', collection, name }));
  });
  const puts = inOrder.flatMap(({ collection, delta }) => {
    const byName = new Map(there(collection.package).map((each) => [each.name, each]));
    return delta.append.map((section): Write => {
      const before = byName.get(section.name);
      // Never PUT what is not there: by the name it could find, and replace, a section with that
      // id.
      return before === undefined
        ? { verb: 'POST', collection, section }
        : { verb: 'PUT', collection, section, before };
    });
  });
  const isReferredTo = ({ collection }: Write): boolean => collection.isReferredTo === true;
  return withoutVti(
    [
      ...removals.filter((write) => !isReferredTo(write)),
      ...puts,
      ...removals.filter(isReferredTo).reverse(),
    ],
    there(REMOTES),
  );
};

/** Undefined: done. A DELETE that is refused leaves the object: `stuck`. */
export type Refusal = { message: string; stuck: boolean };

/** Tried again after a server error. @throws OpenwrtError when it is not known what the call did */
export const carryOut = async (
  client: RestClient,
  write: Write,
  { clock, signal }: { clock: Pick<Clock, 'sleep'>; signal: AbortSignal },
): Promise<Refusal | undefined> => {
  let next = write;
  for (const ms of RETRY_AFTER_MS) {
    const { answer, refusal } = await tryOut(client, next, signal);
    if (!isOfTheMoment(answer)) return refusal;
    await clock.sleep(ms, signal);
    next = await asItIsNow(client, next, signal);
  }
  return (await tryOut(client, next, signal)).refusal;
};

/** A call that ended in an error may have done all, half or nothing: a PUT may leave no object. */
const asItIsNow = async (client: RestClient, write: Write, signal: AbortSignal): Promise<Write> => {
  if (write.verb === 'DELETE') return write;
  const path = `${write.collection.path}/${write.section.name}`;
  const call: RestCall = { method: 'GET', path };
  const answer = await client.call(call, signal);
  if (answer.status === 404) return { ...write, verb: 'POST' };
  expectStatus(call, answer, 200);
  return { ...write, verb: 'PUT' };
};

type Outcome = { answer: RestAnswer; refusal: Refusal | undefined };

const tryOut = async (client: RestClient, write: Write, signal: AbortSignal): Promise<Outcome> => {
  const { collection } = write;
  if (write.verb === 'DELETE') {
    const path = `${collection.path}/${write.name}`;
    if (write.first) {
      const body = bodyOf(collection, write.first);
      const answer = await client.call({ method: 'PUT', path, body }, signal);
      // A refusal keeps nothing from being removed.
      if (isOfTheMoment(answer))
        return { answer, refusal: { message: messageOfAnswer(collection, answer), stuck: true } };
    }
    const answer = await client.call({ method: 'DELETE', path }, signal);
    const isGone = answer.status === 200 || answer.status === 404;
    return {
      answer,
      refusal: isGone ? undefined : { message: messageOfAnswer(collection, answer), stuck: true },
    };
  }
  const { section } = write;
  const isNew = write.verb === 'POST';
  const path = isNew ? collection.path : `${collection.path}/${section.name}`;
  const call = { method: write.verb, path, body: bodyOf(collection, section, write.also) };
  const answer = await client.call(call, signal);
  const message = whyNot(collection, section, answer, isNew ? 201 : 200);
  return { answer, refusal: message === undefined ? undefined : { message, stuck: false } };
};

const storedSchema = z.looseObject({ name: z.string() });

const whyNot = (
  collection: Collection,
  section: UciSection,
  answer: RestAnswer,
  success: number,
): string | undefined => {
  if (answer.status !== success) return messageOfAnswer(collection, answer);
  const stored = storedSchema.safeParse(answer.json);
  if (!stored.success) return 'OpenWRT answered that it stored the object, but did not';
  return sectionsEqual(sectionOf(collection, stored.data), section)
    ? undefined
    : 'OpenWRT did not store the object as it was sent';
};

/** Only the field's name for IPsec: what is wrong with it may be a key. */
const messageOfAnswer = (collection: Collection, { status, message }: RestAnswer): string => {
  const isSecret = collection.package.startsWith('ipsec/');
  const shown = isSecret ? (/Field\[\w+\]|Conflict/.exec(message)?.[0] ?? '') : message;
  return `HTTP status ${status}${shown && `: ${shown}`}`;
};

/** @throws Error for a package that is none of the dialect */
export const servicesOf = (packages: Iterable<string>): ReadonlySet<string> =>
  new Set(
    [...packages].flatMap((name) => {
      const { service } = collectionOf(name);
      return service === undefined ? [] : [service];
    }),
  );
