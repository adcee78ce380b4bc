/**
 * Values for the coordinator's environment, from the schema that reads it: one for each variable
 * that people set, and that no manifest sets itself.
 */
import * as z from 'zod';
import { coordinatorEnvSchema } from '../../../coordinator/env.ts';
import { BOOLEAN, TEXT, TEXTS, type Form, type Value } from './value.ts';

const PREFIX = 'SDEWAN_';
/** Its name is OpenTelemetry's. */
const OTLP_ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT';

/**
 * By the manifests; by a value of its own; by names that rights and manifests have; or files, which
 * the chart mounts none of.
 */
export const NOT_SET_HERE: ReadonlySet<string> = new Set([
  'SDEWAN_REPORT_HOST',
  'SDEWAN_REPORT_PORT',
  'SDEWAN_HTTP_HOST',
  'SDEWAN_HTTP_PORT',
  'SDEWAN_TLS_CERT_FILE',
  'SDEWAN_TLS_KEY_FILE',
  'SDEWAN_WEBHOOK_TOKEN_FILE',
  'SDEWAN_WEBHOOK_CLIENT_CA_FILE',
  'SDEWAN_CERTIFICATE_SECRET',
  'SDEWAN_WEBHOOK_CONFIGURATION',
  'SDEWAN_AGENT_IMAGE',
  'SDEWAN_DASHBOARD_URL',
  'SDEWAN_OPENSTACK_CLOUD_FILE',
  'SDEWAN_OPENSTACK_CLOUD',
  'SDEWAN_LEASE',
  'SDEWAN_SERVICE_ACCOUNT_DIR',
]);

/** `text`: the value as an environment variable, in Helm's language; `unset`: at the default. */
export type Setting = { variable: string; value: Value; text: string; unset: string };

export const settings = (): Setting[] =>
  Object.entries(coordinatorEnvSchema.shape).flatMap(([variable, field]) =>
    (variable.startsWith(PREFIX) && !NOT_SET_HERE.has(variable)) || variable === OTLP_ENDPOINT
      ? [settingOf(variable, field)]
      : [],
  );

const settingOf = (variable: string, field: z.ZodType): Setting => {
  const path = `settings.${camelCase(variable.replace(PREFIX, ''))}`;
  const { form, example, text, usual } = shapeOf(field, `.Values.${path}`);
  const { description = '' } = field;
  return {
    variable,
    text,
    unset: String(usual),
    value: {
      path,
      description: `${description} (\`${variable}\`)`,
      default: usual,
      form,
      example,
    },
  };
};

const camelCase = (name: string): string =>
  name.toLowerCase().replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

type Shape = { form: Form; usual: unknown; example: unknown; text: string };

/** By what the field makes of nothing. */
const shapeOf = (field: z.ZodType, value: string): Shape => {
  const usual: unknown = field.safeParse(undefined).data;
  if (typeof usual === 'boolean')
    return { form: BOOLEAN, usual, example: !usual, text: `toString ${value}` };
  if (typeof usual === 'number') {
    const { minimum, maximum } = rangeSchema.parse(z.toJSONSchema(field));
    const form = { type: 'integer', minimum, maximum };
    return { form, usual, example: usual + 1, text: `toString (int64 ${value})` };
  }
  if (Array.isArray(usual)) {
    // An empty variable counts as one that is not set.
    const form = { ...TEXTS, ...(usual.length > 0 && { minItems: 1 }) };
    return { form, usual, example: ['10.0.0.53'], text: `join "," ${value}` };
  }
  const text = `toString ${value}`;
  const { enum: allowed, pattern } = textSchema.parse(
    z.toJSONSchema(field, { unrepresentable: 'any' }),
  );
  const other = allowed?.find((one) => one !== usual);
  if (allowed) return { form: { enum: allowed }, usual, example: other, text };
  const form = {
    ...TEXT,
    ...(usual !== undefined && { minLength: 1 }),
    ...(pattern && { pattern: usual === undefined ? `^$|${pattern}` : pattern }),
  };
  const words = typeof usual === 'string' ? usual : '';
  // Eight digits are the mark of a cluster; any text that has no form can be a number.
  const digits = ['1', '12345678'].map((one) => `${one}${words}`);
  const example = digits.find((one) => field.safeParse(one).success) ?? digits[0];
  return { form, usual: words, example, text };
};

const rangeSchema = z.looseObject({ minimum: z.number(), maximum: z.number() });
const textSchema = z.looseObject({
  enum: z.array(z.string()).optional(),
  pattern: z.string().optional(),
});
