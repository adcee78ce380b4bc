/**
 * What viewers may list, as the API server says: for all namespaces, or one by one. Answers are
 * kept for a minute at most, so that who loses a right sees nothing more after that; how many are
 * kept, and how many are asked for at once, is bounded.
 */
import { createHash } from 'node:crypto';
import { atOnce } from '#shared/util/at-once.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { Recent } from '#shared/util/recent.ts';
import type { Access, Reviews, SignedIn } from './reviews.ts';

export type Listed = { group: string; resource: string };

export type Rights = {
  /** The rights among those asked for. @throws KubeError when they are not known */
  of: (user: SignedIn, asked: readonly AskedRight[]) => Promise<Sight>;
};
export type AskedRight = { namespace: string; listed: Listed };
export type Sight = {
  /** Whether the user may list a resource in a namespace; what was not asked for counts as not. */
  sees: (namespace: string, listed: Listed) => boolean;
  /** Some were not asked for, since there are too many. */
  isPartial: boolean;
};

const KEPT_MS = 60_000;
/** At about 200 bytes each. */
const MAX_KEPT = 20_000;
/** On the way to the API server, of one page. */
const AT_ONCE = 8;
/** Questions about single namespaces, of one page. */
export const MAX_ASKED = 1_000;

export const createRights = (reviews: Pick<Reviews, 'mayList'>, clock: Clock): Rights => {
  const kept = new Recent<{ allowed: boolean; until: number }>({
    most: MAX_KEPT,
    isOver: ({ until }) => until <= clock.monotonic(),
  });
  const asking = new Map<string, Promise<boolean>>();

  const ask = async (user: SignedIn, who: string, access: Access): Promise<boolean> => {
    const key = JSON.stringify([who, access.group, access.resource, access.namespace ?? null]);
    const known = kept.get(key);
    if (known && clock.monotonic() < known.until) return known.allowed;
    const shared = asking.get(key);
    if (shared) return shared;
    // From before the question: an answer is as old as that.
    const until = clock.monotonic() + KEPT_MS;
    const question = reviews
      .mayList(user, access)
      .then((allowed) => {
        kept.set(key, { allowed, until });
        return allowed;
      })
      .finally(() => asking.delete(key));
    asking.set(key, question);
    return question;
  };

  return {
    of: async (user, asked) => {
      // Everything by which the API server decides.
      const who = createHash('sha256').update(JSON.stringify(user)).digest('base64');
      const everywhere = new Map<string, boolean>();
      const resources = new Map(asked.map(({ listed }) => [nameOf(listed), listed]));
      await atOnce([...resources], AT_ONCE, async ([name, listed]) => {
        const allowed = await ask(user, who, { ...listed, namespace: undefined });
        everywhere.set(name, allowed);
      });
      const allowed = new Set<string>();
      const single = asked.filter(({ namespace, listed }) => {
        if (everywhere.get(nameOf(listed))) allowed.add(`${namespace}/${nameOf(listed)}`);
        return !everywhere.get(nameOf(listed));
      });
      await atOnce(single.slice(0, MAX_ASKED), AT_ONCE, async ({ namespace, listed }) => {
        if (await ask(user, who, { ...listed, namespace }))
          allowed.add(`${namespace}/${nameOf(listed)}`);
      });
      return {
        sees: (namespace, listed) => allowed.has(`${namespace}/${nameOf(listed)}`),
        isPartial: single.length > MAX_ASKED,
      };
    },
  };
};

const nameOf = ({ group, resource }: Listed): string => `${resource}.${group}`;
