/**
 * What must not be shown of objects and logs, in a support bundle or on a page. What an object's
 * own fields tell to be a secret is removed wherever it stands, in logs and other objects as well;
 * of what other programs are started with only the names are kept, since nothing tells which of it
 * is secret. Pure.
 */
import * as z from 'zod';
import { isSecretName, type Redaction } from '#shared/protocol/redaction.ts';
import { AGENT_CONTAINER } from '#shared/names.ts';
import { jsonIn } from '#shared/util/json.ts';

/**
 * Annotations that repeat the object, as text or packed: those of kubectl, Rancher, kopf and others
 * by their names.
 */
const COPY = /[/-](applied|handled)(-config(uration)?)?$/;
const NOT_SHOWN = '[not shown]';
/** Settings whose values are ours, and documented. */
const OURS = /^SDEWAN_/;

/** Values of fields, options and variables whose names tell that they are secret. */
export const secretsIn = (value: unknown, name = ''): string[] => {
  if (typeof value === 'string') return isSecretName(name) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((one: unknown) => secretsIn(one, name));
  if (typeof value !== 'object' || value === null) return [];
  const named = namedSchema.safeParse(value).data;
  return [
    ...(named && isSecretName(named.name) ? [named.value] : []),
    ...Object.entries(value).flatMap(([field, one]) => secretsIn(one, field)),
  ];
};

/** `env` of containers. */
const namedSchema = z.looseObject({ name: z.string(), value: z.string() });

/** Those of an object of kind Secret, as programs get them. */
export const valuesOfSecret = (secret: unknown): string[] =>
  Object.values(secretSchema.safeParse(secret).data?.data ?? {}).map((value) =>
    Buffer.from(value, 'base64').toString(),
  );

const secretSchema = z.looseObject({ data: z.record(z.string(), z.string()).optional() });

const objectSchema = z.looseObject({
  metadata: z.looseObject({ annotations: z.record(z.string(), z.string()).optional() }),
});

/**
 * Anything in Kubernetes: what containers of others are started with is left out, in pods as in pod
 * templates wherever they stand.
 */
export const shownObject = (object: unknown, redaction: Redaction): unknown => {
  const { data } = objectSchema.safeParse(object);
  if (!data) return redaction.json(shownContainers(object, redaction));
  const { annotations, ...metadata } = data.metadata;
  const kept = Object.entries(annotations ?? {}).filter(([name]) => !COPY.test(name));
  const shown = {
    ...data,
    metadata: { ...metadata, ...(annotations && { annotations: Object.fromEntries(kept) }) },
  };
  return redaction.json(shownContainers(shown, redaction));
};

const LISTS: ReadonlySet<string> = new Set(['containers', 'initContainers', 'ephemeralContainers']);

const shownContainers = (value: unknown, redaction: Redaction, name = ''): unknown => {
  if (Array.isArray(value))
    return value.map((one: unknown) =>
      LISTS.has(name) ? shownContainer(one, redaction) : shownContainers(one, redaction),
    );
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, one]) => [field, shownContainers(one, redaction, field)]),
  );
};

const containerSchema = z.looseObject({
  name: z.string(),
  env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).optional(),
});

const shownContainer = (container: unknown, redaction: Redaction): unknown => {
  const { data } = containerSchema.safeParse(container);
  if (!data) return NOT_SHOWN;
  const isOurs = data.name === AGENT_CONTAINER;
  const { env, command, args, lifecycle: _lifecycle, ...rest } = data;
  return {
    ...withoutProbes(rest, isOurs),
    ...(command !== undefined && { command: isOurs ? command : NOT_SHOWN }),
    ...(args !== undefined && { args: isOurs ? args : NOT_SHOWN }),
    ...(env && {
      env: env.map(({ name, value, ...from }) => ({
        name,
        ...from,
        ...(value !== undefined && {
          value: isOurs && OURS.test(name) ? redaction.value(name, value) : NOT_SHOWN,
        }),
      })),
    }),
  };
};

/** They run commands, too. */
const withoutProbes = (
  { livenessProbe, readinessProbe, startupProbe, ...rest }: Readonly<Record<string, unknown>>,
  isOurs: boolean,
): object => (isOurs ? { ...rest, livenessProbe, readinessProbe, startupProbe } : rest);

/** A line of a log: by its fields where it is JSON. */
export const shownLine = (line: string, redaction: Redaction): string => {
  const value = jsonIn(line);
  return typeof value === 'object' && value !== null
    ? JSON.stringify(redaction.json(value))
    : redaction.text(line);
};
