/** How long ago something was, as kubectl writes it. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Up to a duration: its unit, and the smaller one that stands behind it. */
const STEPS: readonly (readonly [
  number,
  readonly [number, string],
  (readonly [number, string])?,
])[] = [
  [2 * MINUTE, [SECOND, 's']],
  [10 * MINUTE, [MINUTE, 'm'], [SECOND, 's']],
  [3 * HOUR, [MINUTE, 'm']],
  [8 * HOUR, [HOUR, 'h'], [MINUTE, 'm']],
  [2 * DAY, [HOUR, 'h']],
  [8 * DAY, [DAY, 'd'], [HOUR, 'h']],
  [Infinity, [DAY, 'd']],
];

/** `moment`: RFC 3339. `<unknown>` where it is none, as kubectl has it. */
export const ageOf = (moment: string | undefined, now: number): string => {
  const passed = Math.max(0, now - Date.parse(moment ?? ''));
  const step = STEPS.find(([limit]) => passed < limit);
  if (!step) return '<unknown>';
  const [, [unit, word], smaller] = step;
  const whole = `${Math.floor(passed / unit)}${word}`;
  const rest = smaller && Math.floor((passed % unit) / smaller[0]);
  return rest ? `${whole}${rest}${smaller[1]}` : whole;
};
