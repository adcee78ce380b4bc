/** A label selector in a rule spec, as Deployments have it (`shared/kube/selector.ts`). */
import * as z from 'zod';
import { OPERATORS } from '../kube/selector.ts';
import { alike, filled, is } from './conditions.ts';
import { celText, text } from './schema.ts';

const MAX_REQUIREMENTS = 32;
const NAME = '[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?';
const KEY_PATTERN = `([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?${NAME}`;
const VALUE_PATTERN = `(${NAME})?`;
const KEY_MUST = 'must be the key of a label such as app or example.org/app';
const VALUE_MUST = 'must be a value that a label can have';

const key = () => text({ must: KEY_MUST, maxLength: 317, pattern: KEY_PATTERN });
const value = () => text({ must: VALUE_MUST, maxLength: 63, pattern: VALUE_PATTERN });

const requirement = z.strictObject({
  key: key().describe('The label.'),
  operator: z
    .enum(OPERATORS, { error: `must be one of ${OPERATORS.join(', ')}` })
    .describe('Relation of the label to values.'),
  values: z.array(value()).max(MAX_REQUIREMENTS).optional().describe('For In and NotIn.'),
});

const VALUES_MUST = 'In and NotIn need values, and the others cannot have any';
const HAS_ITS_VALUES = alike(is('operator', 'In', 'NotIn'), filled('values'));

export const labelSelector = () =>
  z.strictObject({
    matchLabels: z
      .record(z.string(), value())
      .refine((labels) => Object.keys(labels).every((label) => key().safeParse(label).success), {
        error: KEY_MUST,
      })
      .optional()
      .describe('Labels with these values.')
      .meta({
        maxProperties: MAX_REQUIREMENTS,
        'x-kubernetes-validations': [
          {
            rule: `self.all(key, key.matches(${celText(`^(${KEY_PATTERN})$`)}))`,
            message: KEY_MUST,
          },
        ],
      }),
    matchExpressions: z
      .array(
        requirement.refine(HAS_ITS_VALUES.holds, { error: VALUES_MUST }).meta({
          'x-kubernetes-validations': [{ rule: HAS_ITS_VALUES.cel, message: VALUES_MUST }],
        }),
      )
      .max(MAX_REQUIREMENTS)
      .optional()
      .describe('Further conditions on labels; all must hold.'),
  });
