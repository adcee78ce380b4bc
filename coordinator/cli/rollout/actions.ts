/** What `sdewan rollout` does; apart from the rest, so that help loads no more than this. */
export const ACTIONS = [
  'status',
  'history',
  'undo',
  'pause',
  'resume',
  'restart',
  'promote',
  'adopt',
] as const;
export type RolloutAction = (typeof ACTIONS)[number];
