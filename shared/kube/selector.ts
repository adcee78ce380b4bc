/** Label selectors of Kubernetes' own objects: what they select, and how to ask for it. */
import * as z from 'zod';
import { own } from '../util/own.ts';

export const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const;

/** For selectors that the API server has accepted. */
export const labelSelectorSchema = z.object({
  matchLabels: z.record(z.string(), z.string()).optional(),
  matchExpressions: z
    .array(
      z.object({
        key: z.string(),
        operator: z.enum(OPERATORS),
        values: z.array(z.string()).optional(),
      }),
    )
    .optional(),
});
export type LabelSelector = z.infer<typeof labelSelectorSchema>;
export type Requirement = NonNullable<LabelSelector['matchExpressions']>[number];
export type Labels = Readonly<Record<string, string>>;

/** Whether the selector selects an object with these labels. */
export const selects = (selector: LabelSelector, labels: Labels = {}): boolean =>
  requirementsOf(selector).every((requirement) => holds(requirement, labels));

/** As the API server takes it in a list or watch; the same selector is always the same text. */
export const selectorText = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string =>
  [
    ...Object.entries(matchLabels).map(([label, wanted]) => `${label}=${wanted}`),
    ...matchExpressions.map(requirementText),
  ]
    .sort()
    .join(',');

const requirementsOf = ({
  matchLabels = {},
  matchExpressions = [],
}: LabelSelector): Requirement[] => [
  ...Object.entries(matchLabels).map(([key, value]): Requirement => ({
    key,
    operator: 'In',
    values: [value],
  })),
  ...matchExpressions,
];

const holds = ({ key, operator, values = [] }: Requirement, labels: Labels): boolean => {
  const value = own(labels, key);
  if (operator === 'Exists') return value !== undefined;
  if (operator === 'DoesNotExist') return value === undefined;
  const isIn = value !== undefined && values.includes(value);
  // An object without the label is not in, too.
  return operator === 'In' ? isIn : !isIn;
};

const requirementText = ({ key, operator, values = [] }: Requirement): string => {
  if (operator === 'Exists') return key;
  if (operator === 'DoesNotExist') return `!${key}`;
  return `${key} ${operator.toLowerCase()} (${[...new Set(values)].sort().join(',')})`;
};
