/**
 * Requests to the API server. Every call has a timeout and stops on its signal; every failure is a
 * KubeError, and so is an answer that its resource's schema does not take. Nothing is retried here
 * except once after a 401, with credentials read anew: callers know what may be repeated.
 */
import * as z from 'zod';
import type { KubeConfig } from './config.ts';
import { resourceV1, type KubeObject, type ResourceType, type RuleObject } from './objects.ts';
import {
  apiVersionOf,
  collectionPath,
  objectPath,
  queryString,
  resourceName,
  type ObjectKey,
} from './path.ts';
import { requestJson, requestStream, TooLongError, type Exchange } from './request.ts';
import { createTransport, type TransportOptions } from './transport.ts';
import type { WatchPhase } from './informer/watch-state.ts';

export type CallOptions = { signal?: AbortSignal | undefined; timeoutMs?: number | undefined };
export type WriteOptions = CallOptions & {
  /** e.g. `status` */
  subresource?: string | undefined;
  /** The server checks and answers, and writes nothing. */
  dryRun?: boolean | undefined;
  /** A field that the server does not know is an error. Default: it is dropped. */
  fieldValidation?: 'Strict' | undefined;
  /**
   * What the server answers with; `metadata`: a PartialObjectMetadata, however large the object is.
   * Default: the object.
   */
  answer?: 'metadata' | undefined;
};
export type Selection = {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
};
export type ListOptions = Selection &
  CallOptions & {
    /**
     * Items per request; pages are followed to the end, or for `maxPages`. Default: all in one,
     * which the server answers from memory, while pages with a selector may make it read the whole
     * collection from etcd.
     */
    pageSize?: number | undefined;
    /** Requests after which what has come is the answer. Default: no bound. */
    maxPages?: number | undefined;
  };
export type List<T> = {
  items: T[];
  /** Empty of a partial one. */
  resourceVersion: string;
  /** There are more items. */
  isPartial?: true;
};
export type WatchOptions = Selection & {
  resourceVersion: string;
  /** The server ends the watch by itself after this many seconds. */
  timeoutSeconds: number;
  signal: AbortSignal;
};
export type LogOptions = {
  container: string;
  tailLines?: number | undefined;
  signal: AbortSignal;
};
export type Patch =
  /**
   * Server-side apply, by the name of this client, and of what others have set, too. Creates an
   * object that is not there, unless the body has a uid.
   */
  | { type: 'apply'; body: object }
  | { type: 'merge'; body: object }
  | {
      type: 'json';
      body: readonly { op: string; path: string; value?: unknown; from?: string }[];
    };
/** What is to be created; `metadata.namespace` says where. */
export type NewObject = {
  metadata?: Partial<ObjectKey> & { [field: string]: unknown };
  [field: string]: unknown;
};
export type DeleteOptions = CallOptions & {
  preconditions?: { uid?: string; resourceVersion?: string };
  propagationPolicy?: 'Foreground' | 'Background' | 'Orphan';
  gracePeriodSeconds?: number;
};

/** @throws KubeError from every call, the signal's reason when the caller aborted */
export type KubeClient = {
  get: <T extends object = RuleObject>(
    r: ResourceType<T>,
    key: ObjectKey,
    options?: CallOptions,
  ) => Promise<T>;
  /**
   * Consistent: what was written before the call is in it, where it is not partial. Items have
   * apiVersion and kind.
   */
  list: <T extends KubeObject = RuleObject>(
    r: ResourceType<T>,
    options?: ListOptions,
  ) => Promise<List<T>>;
  /** Also for reviews such as TokenReview, which come back filled in. `body` has the namespace. */
  create: <T extends object = RuleObject>(
    r: ResourceType<T>,
    body: NewObject,
    options?: WriteOptions,
  ) => Promise<T>;
  /** The whole object or subresource; fenced by `metadata.resourceVersion` if the body has it. */
  replace: <T extends object = RuleObject>(
    r: ResourceType<T>,
    body: { metadata: ObjectKey },
    options?: WriteOptions,
  ) => Promise<T>;
  patch: <T extends object = RuleObject>(
    r: ResourceType<T>,
    key: ObjectKey,
    options: WriteOptions & { patch: Patch },
  ) => Promise<T>;
  delete: (r: ResourceType<object>, key: ObjectKey, options?: DeleteOptions) => Promise<void>;
  /** Resolves when the server has accepted the watch. The chunks end when the server ends it. */
  watch: (r: ResourceType<object>, options: WatchOptions) => Promise<AsyncIterable<Uint8Array>>;
  /** What a container has printed, as it flows. */
  logs: (key: ObjectKey, options: LogOptions) => Promise<AsyncIterable<Uint8Array>>;
  /** Called when the state of a watch that goes on for ever changes; undefined: it has ended. */
  onWatchState?: (watch: object, resource: string, phase: WatchPhase | undefined) => void;
  /** The server's version, such as `v1.36.0`. */
  serverVersion: (options?: CallOptions) => Promise<string>;
  /** Since when no request has been answered, in milliseconds; undefined: the last one was. */
  unansweredForMs: () => number | undefined;
  /** TCP connections that are open now. */
  connections: () => number;
  /** Cuts everything that is open. */
  close: () => Promise<void>;
};

export type KubeClientOptions = Omit<TransportOptions, 'config'> & {
  config: KubeConfig;
  /** Per request, answer included; not for watches. Default 15 s. */
  timeoutMs?: number;
  userAgent?: string;
};

/**
 * For lists of what tenants write: what a schema does not keep of an object is gone with its page,
 * so that the largest permitted ones fit into a small process.
 */
export const PAGE_SIZE = 200;
const DEFAULT_TIMEOUT_MS = 15_000;
/** The server sends a watch's headers at once; one that has none by then is given up. */
const WATCH_OPEN_TIMEOUT_MS = 30_000;
/** Objects can be as large as etcd takes them, and how large they are is not known before. */
const FIRST_PAGE = 8;
/** Characters of a page: many lists are taken at once, and what is made of a text is larger. */
const PAGE_LENGTH = 1_048_576;
/** Longer ones are asked for again with fewer objects: large ones can follow small ones. */
const MAX_PAGE_BYTES = 4_194_304;
/** By which the number of objects is divided then. */
const CUT_BY = 8;
const PATCH_TYPES = {
  /** JSON is YAML. */
  apply: 'application/apply-patch+yaml',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
} as const;
const PODS = resourceV1('', 'pods', 'Pod');
const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

type RequestJson = <T>(
  call: CallOptions | undefined,
  schema: z.ZodType<T>,
  exchange: Omit<Exchange, 'timeoutMs'>,
) => Promise<T>;

export const createKubeClient = (options: KubeClientOptions): KubeClient => {
  const { config, timeoutMs = DEFAULT_TIMEOUT_MS, userAgent = 'sdewan' } = options;
  const transport = createTransport(options);
  const deps = { config, transport, userAgent };
  const json: RequestJson = (call, schema, exchange) => {
    const bounds = { signal: call?.signal, timeoutMs: call?.timeoutMs ?? timeoutMs };
    return requestJson(deps, { ...bounds, ...exchange }, schema);
  };
  const list = listing(json);
  return {
    list,
    get: (r, key, call) => {
      const path = objectPath(r, key);
      return json(call, r.schema, { attempted: say('get', r, key), method: 'GET', path });
    },
    create: (r, body, call) => {
      const path = collectionPath(r, body.metadata?.namespace) + writeQuery(call);
      const attempted = say('create', r, body.metadata);
      return json(call, r.schema, { attempted, method: 'POST', path, body });
    },
    replace: (r, body, call) => {
      const path = objectPath(r, body.metadata, call?.subresource) + writeQuery(call);
      const attempted = say('replace', r, body.metadata);
      const accept = acceptOf(call);
      return json(call, r.schema, { attempted, method: 'PUT', path, body, accept });
    },
    patch: (r, key, { patch, ...call }) =>
      json(call, r.schema, {
        attempted: say('patch', r, key),
        method: 'PATCH',
        path:
          objectPath(r, key, call.subresource) +
          writeQuery(call, patch.type === 'apply' ? { fieldManager: userAgent, force: true } : {}),
        body: patch.body,
        contentType: PATCH_TYPES[patch.type],
        accept: acceptOf(call),
      }),
    delete: async (r, key, { signal, timeoutMs: limit, ...body } = {}) => {
      const path = objectPath(r, key);
      const exchange = { attempted: say('delete', r, key), method: 'DELETE', path, body } as const;
      await json({ signal, timeoutMs: limit }, z.unknown(), exchange);
    },
    watch: (r, { signal, resourceVersion, timeoutSeconds, ...selection }) => {
      const query = { watch: true, allowWatchBookmarks: true, resourceVersion, timeoutSeconds };
      const path =
        collectionPath(r, selection.namespace) + queryString({ ...selectors(selection), ...query });
      const timeoutMs = WATCH_OPEN_TIMEOUT_MS;
      const attempted = say('watch', r, selection);
      return requestStream(deps, { attempted, method: 'GET', path, signal, timeoutMs });
    },
    logs: (key, { signal, ...query }) => {
      const path = objectPath(PODS, key, 'log') + queryString(query);
      const timeoutMs = WATCH_OPEN_TIMEOUT_MS;
      const attempted = `${say('get', PODS, key)}/log`;
      return requestStream(deps, { attempted, method: 'GET', path, signal, timeoutMs });
    },
    serverVersion: async (call) => {
      const exchange = { attempted: 'get the version', method: 'GET', path: '/version' } as const;
      return (await json(call, z.object({ gitVersion: z.string() }), exchange)).gitVersion;
    },
    unansweredForMs: () => {
      const since = transport.unansweredSince();
      return since && performance.now() - since;
    },
    connections: transport.connections,
    close: transport.close,
  };
};

const listing =
  (json: RequestJson) =>
  async <T extends KubeObject>(r: ResourceType<T>, call: ListOptions = {}): Promise<List<T>> => {
    const items: T[] = [];
    const place: Place = { limit: call.pageSize && Math.min(FIRST_PAGE, call.pageSize) };
    for (let pages = 1; ; pages += 1) {
      const page = await pageOf(json, r, call, place);
      for (const item of page?.items ?? []) items.push(item);
      if (page && !page.metadata.continue)
        return { items, resourceVersion: page.metadata.resourceVersion };
      if (pages === call.maxPages) return { items, resourceVersion: '', isPartial: true };
      if (page) place.next = page.metadata.continue;
      place.limit = limitAfter(page, place, call);
    }
  };

type Place = { limit: number | undefined; next?: string | undefined };

/** Undefined: it would be far too long. */
const pageOf = async <T extends KubeObject>(
  json: RequestJson,
  r: ResourceType<T>,
  call: ListOptions,
  { limit, next }: Place,
) => {
  let length = 0;
  const onLength = (of: number): void => {
    length = of;
  };
  const query = queryString({ ...selectors(call), limit, continue: next });
  const exchange = {
    attempted: say('list', r, call),
    method: 'GET',
    path: collectionPath(r, call.namespace) + query,
    onLength,
    maxBytes: limit && limit > 1 ? MAX_PAGE_BYTES : undefined,
  } as const;
  try {
    return { ...(await json(call, listSchemaOf(r), exchange)), length };
  } catch (error) {
    if (error instanceof TooLongError) return undefined;
    throw error;
  }
};

const limitAfter = (
  page: { length: number } | undefined,
  { limit }: Place,
  { pageSize }: ListOptions,
): number | undefined => {
  if (!limit || !pageSize) return limit;
  return page ? nextLimit(limit, page.length, pageSize) : Math.ceil(limit / CUT_BY);
};

/** Twice as many objects as long as they are small; else as many as a page should have. */
const nextLimit = (limit: number, length: number, largest: number): number =>
  Math.max(1, Math.min(largest, 2 * limit, Math.floor((limit * PAGE_LENGTH) / length)));

const listSchemaOf = <T extends object>(r: ResourceType<T>) => {
  const typed = { apiVersion: apiVersionOf(r), kind: r.kind };
  // Lists of built-in types leave these two out of their items.
  const item = z.custom<object>(isObject).transform((one): object => Object.assign(one, typed));
  return z.object({
    metadata: z.object({ resourceVersion: z.string(), continue: z.string().optional() }),
    /** Old servers write null for an empty list. */
    items: z.array(item.pipe(r.schema)).nullable(),
  });
};

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

const say = (verb: string, r: ResourceType<object>, key: Partial<ObjectKey> = {}): string =>
  [verb, resourceName(r), [key.namespace, key.name].filter(Boolean).join('/')].join(' ').trim();

const selectors = ({ labelSelector, fieldSelector }: Selection) => ({
  labelSelector,
  fieldSelector,
});

const acceptOf = ({ answer }: WriteOptions = {}): string | undefined =>
  answer === 'metadata' ? METADATA_ONLY : undefined;

const writeQuery = (
  call: WriteOptions | undefined,
  more: { fieldManager?: string; force?: boolean } = {},
): string =>
  queryString({
    dryRun: call?.dryRun ? 'All' : undefined,
    fieldValidation: call?.fieldValidation,
    ...more,
  });
