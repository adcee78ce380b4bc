/** Which CNFs a namespace has, as the labels of workloads, pod templates and pods say. */
export const purposesAmong = (labels: readonly (string | undefined)[]): ReadonlySet<string> =>
  new Set(labels.flatMap((label) => (label ? [label] : [])));
