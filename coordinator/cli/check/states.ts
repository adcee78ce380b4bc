/** An item in one of its three states. */
import type { Item } from './view.ts';

export const good = (what: string): Item => ({ state: 'Good', what });
export const bad = (what: string, cause: string, cure: string): Item => ({
  state: 'Bad',
  what,
  cause,
  cure,
});
export const unknown = (what: string, cause: string, cure?: string): Item => ({
  state: 'Unknown',
  what,
  cause,
  ...(cure !== undefined && { cure }),
});
