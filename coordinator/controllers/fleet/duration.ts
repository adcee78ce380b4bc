import { own } from '#shared/util/own.ts';

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000 };

/** Milliseconds of `1h30m`, as the schema of CNFDeployments takes it. */
export const durationMs = (text: string): number =>
  [...text.matchAll(/(\d+)([hms])/g)].reduce(
    (sum, [, amount, unit = '']) => sum + Number(amount) * (own(UNITS, unit) ?? 0),
    0,
  );
