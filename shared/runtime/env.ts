/**
 * The environment, read once per program by one schema per program (`env.ts` beside its `main.ts`).
 * The same schema makes the table in the docs. Values are never repeated in an error: they may be
 * secrets.
 */
import * as z from 'zod';
import { own } from '../util/own.ts';

/** Wrong or missing variables, all of them. Programs exit with `EXIT_CODE_USAGE` on it. */
export class EnvError extends Error {
  override name = 'EnvError';
  /** One line per variable. */
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`the environment is invalid:\n${problems.map((line) => `  ${line}`).join('\n')}`);
    this.problems = problems;
  }
}

export const EXIT_CODE_USAGE = 2;

/** Fields for the usual types; add `.default(…)` or `.optional()`, and last `.describe('…')`. */
export const envField = {
  text: () => z.string().trim().min(1),
  /** `true`, `false` and the like. */
  flag: () => z.stringbool(),
  int: (min: number, max: number) => z.coerce.number().int().min(min).max(max),
  port: () => z.coerce.number().int().min(0).max(65_535),
  url: () => z.url({ protocol: /^https?$/ }),
  /** At least one, separated by commas. */
  urls: () => envField.list().pipe(z.array(envField.url()).min(1)),
  /** Separated by commas; empty parts are left out. */
  list: () =>
    z.string().transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    ),
  logLevel: () => z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']),
};

/**
 * A variable that is set but empty counts as not set, as manifests often write it.
 * @throws EnvError naming every problem
 */
export const readEnv = <Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  source: Readonly<Record<string, string | undefined>>,
): z.infer<z.ZodObject<Shape>> => {
  const given = Object.fromEntries(
    Object.keys(schema.shape)
      .map((name) => [name, own(source, name)] as const)
      .filter(([, value]) => value !== undefined && value !== ''),
  );
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  throw new EnvError(
    result.error.issues.map((issue) => {
      const name = String(issue.path[0] ?? '');
      if (name === '') return issue.message;
      return Object.hasOwn(given, name)
        ? `${name}: ${issue.message}`
        : `${name}: required but not set`;
    }),
  );
};
