/** Logins at registries, as docker's `config.json` has them. */
import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { jsonIn } from '#shared/util/json.ts';
import { DOCKER_HUB } from './image.ts';

/** User and password. */
export type Credentials = readonly [string, string];

const text = z.string().optional();
const fileSchema = z.object({
  auths: z.record(z.string(), z.object({ auth: text, username: text, password: text })),
});

/**
 * By host, as images name it; undefined: without a login. Read anew each time, so that a Secret
 * that is replaced counts at once. @throws Error that repeats nothing of the file
 */
export const readCredentials = async (
  file: string | undefined,
): Promise<ReadonlyMap<string, Credentials | undefined>> => {
  if (file === undefined) return new Map();
  const { data } = fileSchema.safeParse(jsonIn(await readFile(file, 'utf8')));
  if (!data) throw new Error(`${file} is no config.json of docker with "auths"`);
  return new Map(
    Object.entries(data.auths).map(([host, { auth = '', username, password }]) => {
      const [user = '', ...rest] = Buffer.from(auth, 'base64').toString('utf8').split(':');
      const login = [username ?? user, password ?? rest.join(':')] as const;
      return [hostOf(host), login[0] === '' ? undefined : login];
    }),
  );
};

/** Keys may be URLs; that of Docker Hub is always one. */
const hostOf = (key: string): string => {
  const host = key.replace(/^https?:\/\//, '').replace(/\/.*$/, '');
  return host === 'index.docker.io' ? DOCKER_HUB : host;
};
