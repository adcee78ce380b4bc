/**
 * How to reach an OpenStack and as whom: a `clouds.yaml` as OpenStack's own clients read it, of
 * which only what is used here is taken.
 */
import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { own } from '#shared/util/own.ts';

const text = z.string().min(1);

const authSchema = z.object({
  auth_url: z.url({ protocol: /^https?$/ }),
  username: text.optional(),
  user_id: text.optional(),
  password: text.optional(),
  user_domain_name: text.optional(),
  user_domain_id: text.optional(),
  project_name: text.optional(),
  project_id: text.optional(),
  project_domain_name: text.optional(),
  project_domain_id: text.optional(),
  application_credential_id: text.optional(),
  application_credential_secret: text.optional(),
});
export type CloudAuth = z.infer<typeof authSchema>;

const cloudSchema = z.object({
  auth: authSchema,
  region_name: text.optional(),
  interface: z.enum(['public', 'internal', 'admin']).default('public'),
  /** Path of a PEM file with the CAs of its certificates. */
  cacert: text.optional(),
});
export type Cloud = z.infer<typeof cloudSchema>;

const fileSchema = z.object({ clouds: z.record(z.string(), cloudSchema) });

export type CloudFile = {
  path: string;
  /** Which of the clouds in it; absent: the only one. */
  name?: string | undefined;
};

/**
 * Read anew each time, so that a secret that is replaced counts from the next token on. @throws
 * Error that repeats no value of the file
 */
export const readCloud = async ({ path, name }: CloudFile): Promise<Cloud> => {
  // In a bundle a package in CommonJS that is imported when needed has no names but this one.
  const { default: yaml } = await import('yaml');
  const content = await readFile(path, 'utf8');
  const parsed = fileSchema.safeParse(parsedBy(yaml.parse, content, path));
  if (!parsed.success) {
    const places = parsed.error.issues.map(
      ({ path: at, message }) => `${at.join('.')}: ${message}`,
    );
    throw new Error(`${path} is no clouds.yaml: ${places.join('; ')}`);
  }
  const { clouds } = parsed.data;
  const names = Object.keys(clouds);
  if (name === undefined && names.length !== 1)
    throw new Error(`${path} has ${names.length} clouds, and which of them is not said`);
  const cloud = own(clouds, name ?? names[0] ?? '');
  if (cloud === undefined)
    throw new Error(`${path} has no cloud ${name}: there are ${names.join(', ')}`);
  return cloud;
};

/** The parser's own error shows the line, which may be the one with the password. */
const parsedBy = (parse: (content: string) => unknown, content: string, path: string): unknown => {
  try {
    return parse(content);
  } catch {
    throw new Error(`${path} is no YAML`);
  }
};
