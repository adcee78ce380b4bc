/**
 * Builds the images with whichever engine is there, and leaves each as a docker-archive in
 * dist/images.
 */
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

import { installCommand, installPackages, mayInstall } from 'kind-test-harness';
import { bundle } from '../../../deploy/images/bundle.ts';
import { VERSION } from '../../../shared/own-version.ts';
import { archivePath, IMAGES, OUTPUT, ROOT, type ImageName } from './catalog.ts';
import { ENGINES, type Engine } from './engine.ts';
import { planLocalBase, writeLocalBase } from './local-base.ts';
import { runOrThrow, succeeds } from './run.ts';

const PULL_TIMEOUT_MS = 120_000;
const PROBE_TIMEOUT_MS = 20_000;

export type BuildOptions = {
  names: readonly ImageName[];
  /**
   * An image with Node and a shell, `local` for one made of this machine's files, or undefined:
   * what can be had.
   */
  base?: string | undefined;
  say: (line: string) => void;
};

/** @throws when no engine answers or a build fails; images built before that stay. */
export const buildImages = async ({ names, base, say }: BuildOptions): Promise<void> => {
  process.chdir(ROOT); // engines take the build's context from here
  await mkdir(OUTPUT, { recursive: true });
  const engine = await findEngine(say);
  const chosen = await chooseBase(engine, base, say);
  say(`building with ${engine.name} on ${chosen}`);
  for (const name of names) {
    const startedAt = Date.now();
    const bundleBytes = await bundle(IMAGES[name].entry, IMAGES[name].bundle, IMAGES[name].others);
    const isNew = await buildImage(engine, name, chosen);
    const size = isNew ? `${megabytes(await compressedBytes(name))} compressed` : 'unchanged';
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
    say(`${IMAGES[name].tag}: bundle ${megabytes(bundleBytes)}, image ${size}, ${seconds} s`);
  }
};

const PACKAGES = ['buildah', 'busybox-static'];

/**
 * Why images cannot be built here; undefined when they can. In CI as root, an engine is installed
 * where none answers.
 */
export const whyNoImages = async (
  say: (line: string) => void = console.warn,
): Promise<string | undefined> => {
  if (await answeringEngine()) return undefined;
  if (!mayInstall(process.env)) {
    const names = ENGINES.map(({ name }) => name).join(', ');
    return `no container engine answers (${names}): install one, e.g. ${installCommand(PACKAGES)}`;
  }
  return await installPackages(PACKAGES, { env: process.env, say }).then(
    () => undefined,
    (error: unknown) => `no container engine answers, and buildah cannot be had: ${String(error)}`,
  );
};

const findEngine = async (say: (line: string) => void): Promise<Engine> => {
  const reason = await whyNoImages(say);
  const engine = reason === undefined ? await answeringEngine() : undefined;
  if (!engine) throw new Error(reason ?? `${PACKAGES.join(', ')}: installed, and nothing answers`);
  return engine;
};

const answeringEngine = async (): Promise<Engine | undefined> => {
  for (const engine of ENGINES) {
    if (await succeeds(engine.probe, PROBE_TIMEOUT_MS)) return engine;
  }
  return undefined;
};

/**
 * The value of `ARG BASE=`, with the digest where there is one.
 * @throws where the Dockerfile has none
 */
const publishedBaseOf = (dockerfile: string): string => {
  const [, base] = /^ARG BASE=(\S+)$/m.exec(dockerfile) ?? [];
  if (base === undefined) throw new Error('no line ARG BASE=… in the Dockerfile');
  return base;
};

const chooseBase = async (
  engine: Engine,
  wanted: string | undefined,
  say: (line: string) => void,
): Promise<string> => {
  if (wanted && wanted !== 'local') return wanted;
  if (!wanted) {
    const published = publishedBaseOf(await readFile(IMAGES.agent.dockerfile, 'utf8'));
    if (await succeeds(engine.exists(published), PROBE_TIMEOUT_MS)) return published;
    if (await succeeds(engine.pull(published), PULL_TIMEOUT_MS)) return published;
    say(`${published} cannot be pulled here: using a local base`);
  }
  const local = await planLocalBase();
  if (!(await succeeds(engine.exists(local.name), PROBE_TIMEOUT_MS))) {
    const archive = `${OUTPUT}/base.tar`;
    await writeLocalBase(local, archive);
    await runOrThrow(engine.load(archive));
    await rm(archive);
  }
  return local.name;
};

/** False when the archive of an earlier build is of the same image. */
const buildImage = async (engine: Engine, name: ImageName, base: string): Promise<boolean> => {
  const { tag, dockerfile } = IMAGES[name];
  const archive = archivePath(name);
  const [idFile, newIdFile] = [`${archive}.id`, `${archive}.new-id`];
  const buildArgs = { BUNDLE: 'prebuilt', VERSION };
  await runOrThrow(engine.build({ dockerfile, tag, base, idFile: newIdFile, buildArgs }));
  if (existsSync(archive) && (await content(idFile)) === (await content(newIdFile))) return false;
  await rm(archive, { force: true });
  await runOrThrow(engine.save(tag, archive));
  await rename(newIdFile, idFile);
  return true;
};

const content = async (path: string): Promise<string> =>
  await readFile(path, 'utf8').catch(() => '');

/** What a registry would hold: layers travel compressed. */
const compressedBytes = async (name: ImageName): Promise<number> => {
  let bytes = 0;
  const gzip = createReadStream(archivePath(name)).pipe(createGzip());
  gzip.on('data', (chunk: Buffer) => (bytes += chunk.length));
  await finished(gzip);
  return bytes;
};

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
