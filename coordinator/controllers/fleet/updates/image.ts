/** Images of a pod template: what is looked up for them, and where digests are put. Pure. */
import * as z from 'zod';
import type { PodTemplateText } from '../apps.ts';

/** Digests, by the image as the template has it. */
export type Digests = ReadonlyMap<string, string>;

export type ImageReference = {
  /** As docker's configuration names it: `docker.io`, `registry.example.com:5000`. */
  host: string;
  /** Path in it. */
  name: string;
  tag: string;
};

export const DOCKER_HUB = 'docker.io';
/** As distribution's package `reference` has them. */
const HOST = /^([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?$/;
const PART = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const PATH = new RegExp(`^(?<name>${PART}(?:/${PART})*)(?::(?<tag>[A-Za-z0-9_][A-Za-z0-9_.-]*))?$`);
const [MAX_IMAGE_LENGTH, MAX_TAG_LENGTH] = [384, 128];
const DIGEST = /^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/;

export const isDigest = (text: string): boolean => DIGEST.test(text);

/** Undefined: it is none. Without a tag it is `latest`. */
export const referenceOf = (image: string): ImageReference | undefined => {
  if (image.length > MAX_IMAGE_LENGTH) return undefined;
  const [host, path] = hostAndPath(image);
  const { name, tag = 'latest' } = PATH.exec(path)?.groups ?? {};
  if (name === undefined || tag.length > MAX_TAG_LENGTH || !HOST.test(host)) return undefined;
  const isOfficial = host === DOCKER_HUB && !name.includes('/');
  return { host, name: isOfficial ? `library/${name}` : name, tag };
};

const hostAndPath = (image: string): [string, string] => {
  const at = image.indexOf('/');
  const first = image.slice(0, Math.max(at, 0));
  const isHost = /[.:]/.test(first) || first === 'localhost';
  return isHost ? [first, image.slice(at + 1)] : [DOCKER_HUB, image];
};

/** Each once, without those that say themselves by a digest what they are. */
export const taggedImages = ({ spec }: Template): string[] => [
  ...new Set(imagesIn({ spec }).filter((image) => !image.includes('@'))),
];

export const withDigests = (template: PodTemplateText, digests: Digests): PodTemplateText => {
  const { spec } = template;
  if (!spec || digests.size === 0) return template;
  const resolved = Object.fromEntries(
    LISTS.flatMap((list) => {
      const { data } = containersSchema.safeParse(spec[list]);
      return data ? [[list, data.map((container) => withDigest(container, digests))]] : [];
    }),
  );
  return { ...template, spec: { ...spec, ...resolved } };
};

/** What the template has those images resolved to. */
export const digestsIn = (template: Template | undefined, images: readonly string[]): Digests => {
  const there = imagesIn(template);
  return new Map(
    images.flatMap((image) => {
      const resolved = there.find((one) => one.startsWith(`${image}@`));
      return resolved === undefined ? [] : [[image, resolved.slice(image.length + 1)]];
    }),
  );
};

type Template = { spec?: Record<string, unknown> | undefined };

const LISTS = ['initContainers', 'containers'] as const;

const containersSchema = z.array(z.looseObject({ image: z.string().optional() }));

/** Those of all containers, in their order. */
export const imagesIn = ({ spec = {} }: Template = {}): string[] =>
  LISTS.flatMap((list) => containersSchema.safeParse(spec[list]).data ?? []).flatMap(
    ({ image }) => image ?? [],
  );

const withDigest = <C extends { image?: string | undefined }>(
  container: C,
  digests: Digests,
): C => {
  const digest = digests.get(container.image ?? '');
  return digest === undefined ? container : { ...container, image: `${container.image}@${digest}` };
};
