/**
 * `npm run images:pin`: asks the registry for the digest that the base image's tag has today, and writes it into the Dockerfiles. Where no
 * registry is reached it changes nothing, and exits with 1.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { IMAGES, ROOT } from './catalog.ts';

export type Registry = { auth: string; manifests: string };
const DOCKER_HUB: Registry = {
  auth: 'https://auth.docker.io/token?service=registry.docker.io',
  manifests: 'https://registry-1.docker.io/v2',
};
const TIMEOUT_MS = 20_000;
/** An index names the images of all architectures. */
const INDEX = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
];
const BASE = /^ARG BASE=docker\.io\/([^:@\s]+):([^@\s]+)(?:@sha256:[0-9a-f]{64})?$/m;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

const tokenSchema = z.object({ token: z.string() });

/** Such as `library/node` and `26-slim`. @throws when the Dockerfile names no base of Docker Hub */
export const baseOf = (dockerfile: string): { repository: string; tag: string } => {
  const [, repository, tag] = BASE.exec(dockerfile) ?? [];
  if (repository === undefined || tag === undefined)
    throw new Error('no line ARG BASE=docker.io/…:… in it');
  return { repository, tag };
};

/** As engines are asked for it, with the digest where there is one. @throws the same */
export const publishedBaseOf = (dockerfile: string): string => {
  baseOf(dockerfile);
  return /^ARG BASE=(\S+)$/m.exec(dockerfile)?.[1] ?? '';
};

/** The same Dockerfile with that digest behind the tag. */
export const pinned = (dockerfile: string, digest: string): string => {
  if (!DIGEST.test(digest)) throw new Error(`${digest} is no digest`);
  const { repository, tag } = baseOf(dockerfile);
  return dockerfile.replace(BASE, `ARG BASE=docker.io/${repository}:${tag}@${digest}`);
};

/** @throws when the registry is not reached, or does not say */
export const digestOf = async (
  { repository, tag }: ReturnType<typeof baseOf>,
  { auth, manifests }: Registry = DOCKER_HUB,
): Promise<string> => {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const asked = await fetch(`${auth}&scope=repository:${repository}:pull`, { signal });
  if (!asked.ok) throw new Error(`${auth} answers ${asked.status}`);
  const { token } = tokenSchema.parse(await asked.json());
  const headers = { authorization: `Bearer ${token}`, accept: INDEX.join(', ') };
  const url = `${manifests}/${repository}/manifests/${tag}`;
  const answer = await fetch(url, { method: 'HEAD', headers, signal });
  const digest = answer.headers.get('docker-content-digest');
  if (!answer.ok || digest === null) throw new Error(`${url} answers ${answer.status}`);
  return digest;
};

/** All are asked for before one is written, so that no two Dockerfiles are of different days. */
const main = async (): Promise<void> => {
  const files = [...new Set(Object.values(IMAGES).map(({ dockerfile }) => dockerfile))];
  const found = await Promise.all(
    files.map(async (file) => {
      const path = join(ROOT, file);
      const text = await readFile(path, 'utf8');
      const digest = await digestOf(baseOf(text));
      return { file, path, digest, text: pinned(text, digest) };
    }),
  );
  for (const { file, path, digest, text } of found) {
    await writeFile(path, text);
    process.stdout.write(`${file}: ${digest}\n`);
  }
};

if (import.meta.main)
  await main().catch((error: unknown) => {
    const why = error instanceof Error ? (error.cause ?? error) : error;
    process.stderr.write(`nothing is pinned: the registry does not answer (${String(why)})\n`);
    process.exitCode = 1;
  });
