/** The trend of what was sampled over time. */

/** `at` in ms. */
export type Sample = { at: number; value: number };

/**
 * The straight line with the least squares, in values per ms; 0 where there are fewer than two
 * samples.
 */
export const slopeOf = (samples: readonly Sample[]): number => {
  const mean = (of: (sample: Sample) => number): number =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const [at, value] = [mean((sample) => sample.at), mean((sample) => sample.value)];
  const covariance = mean((sample) => (sample.at - at) * (sample.value - value));
  const variance = mean((sample) => (sample.at - at) ** 2);
  return variance > 0 ? covariance / variance : 0;
};
