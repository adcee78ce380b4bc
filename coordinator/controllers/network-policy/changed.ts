/** What has changed of each CNF since it was last looked at. */
import type { About } from './changes.ts';

export type Changed = { isAll: boolean; groups: Iterable<string>; policies: Iterable<string> };

export const createChanged = () => {
  const byKey = new Map<string, About>();
  return {
    add: (key: string, { isAll = false, groups = [], policies = [] }: Partial<Changed>): void => {
      const about = byKey.get(key) ?? { groups: new Set<string>(), policies: new Set<string>() };
      if (isAll || about === 'all') {
        byKey.set(key, 'all');
        return;
      }
      byKey.set(key, {
        groups: new Set([...about.groups, ...groups]),
        policies: new Set([...about.policies, ...policies]),
      });
    },
    has: (key: string): boolean => byKey.has(key),
    /** Nothing is known of a key that was marked otherwise: all of it. */
    take: (key: string): About => {
      const about = byKey.get(key) ?? 'all';
      byKey.delete(key);
      return about;
    },
  };
};
