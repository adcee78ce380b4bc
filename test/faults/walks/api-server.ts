/**
 * An API server in this process, on the time of a walk: resource versions, fenced writes,
 * finalizers, selections, watches. Its clients are `KubeClient`s. What goes wrong with a call is
 * said by `faultOf`.
 */
import * as z from 'zod';
import type { KubeClient, NewObject, Patch, Selection } from '#shared/kube/client.ts';
import { KubeError } from '#shared/kube/errors.ts';
import type { KubeObject, ObjectMeta, ResourceType } from '#shared/kube/objects.ts';
import type { Process } from './process.ts';
import type { Time } from './time.ts';

type Addressed = Pick<ResourceType<object>, 'group' | 'plural' | 'kind'>;
export type Stored = KubeObject & { spec?: unknown; status?: unknown };
type Logged = {
  version: number;
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  now: Stored;
  before: Stored | undefined;
};

export type Fault =
  | { status: number; reason: string; retryAfterMs?: number }
  /** No answer; whether it was carried out. */
  | { hangs: 'before' | 'after' };

export type ApiServerOptions = {
  time: Time;
  faultOf: (verb: string, resource: Addressed) => Fault | undefined;
  /** Milliseconds until an event of a watch arrives. */
  watchDelay: () => number;
  latency: () => number;
  onChange: (change: {
    resource: string;
    before: Stored | undefined;
    now: Stored | undefined;
  }) => void;
};

const TIMEOUT_MS = 15_000;

export class ApiServer {
  readonly #options: ApiServerOptions;
  readonly #objects = new Map<string, Map<string, Stored>>();
  readonly #logs = new Map<string, Logged[]>();
  /** Each watch that has begun; `to` is Infinity while it goes on. */
  readonly #watched: { process: Process; resource: string; from: number; to: number }[] = [];
  readonly #watches = new Set<{ resource: string; end: () => void; repeat: () => void }>();
  #version = 100;
  #oldest = 0;
  #uids = 0;

  constructor(options: ApiServerOptions) {
    this.#options = options;
  }

  all(resource: string): Stored[] {
    return [...this.#of(resource).values()];
  }

  get(resource: string, name: string, namespace = NAMESPACE): Stored | undefined {
    return this.#of(resource).get(`${namespace}/${name}`);
  }

  /** As by a client without faults. */
  create(
    resource: string,
    object: Omit<Stored, 'metadata'> & { metadata: Partial<ObjectMeta> },
  ): Stored {
    const { namespace = NAMESPACE, name = '' } = object.metadata;
    if (this.get(resource, name, namespace)) throw refusal('create', 409, 'AlreadyExists');
    const metadata = {
      ...object.metadata,
      name,
      namespace,
      uid: object.metadata.uid ?? `uid-${(this.#uids += 1)}-${name}`,
      resourceVersion: '',
      generation: 1,
      creationTimestamp: this.#timestamp(),
    };
    return this.#put(resource, { ...object, metadata }, undefined);
  }

  /** `change` gives the next version; one with another spec is another generation. */
  update(
    resource: string,
    name: string,
    change: (object: Stored) => Stored,
    namespace = NAMESPACE,
  ): Stored {
    const before = this.get(resource, name, namespace);
    if (!before) throw refusal('update', 404, 'NotFound');
    const changed = change(before);
    if (JSON.stringify(changed) === JSON.stringify(before)) return before;
    const isOther = JSON.stringify(changed.spec) !== JSON.stringify(before.spec);
    const generation = (before.metadata.generation ?? 0) + (isOther ? 1 : 0);
    const now = { ...changed, metadata: { ...changed.metadata, generation } };
    if (now.metadata.deletionTimestamp !== undefined && !now.metadata.finalizers?.length)
      return this.#remove(resource, before);
    return this.#put(resource, now, before);
  }

  delete(resource: string, name: string, namespace = NAMESPACE): void {
    const before = this.get(resource, name, namespace);
    if (!before || before.metadata.deletionTimestamp !== undefined) return;
    const { metadata } = before;
    if (!metadata.finalizers?.length) {
      this.#remove(resource, before);
      return;
    }
    const generation = (metadata.generation ?? 0) + 1;
    const now = {
      ...before,
      metadata: { ...metadata, generation, deletionTimestamp: this.#timestamp() },
    };
    this.#put(resource, now, before);
  }

  /** At once, finalizers or not. */
  vanish(resource: string, name: string, namespace = NAMESPACE): void {
    const before = this.get(resource, name, namespace);
    if (before) this.#remove(resource, before);
  }

  /** Watches that ask for what is older get 410. */
  compact(): void {
    this.#oldest = this.#version;
  }

  endWatches(): void {
    for (const watch of this.#watches) watch.end();
  }

  /** All watches receive again what they know. */
  repeat(): void {
    for (const watch of this.#watches) watch.repeat();
  }

  clientOf(process: Process): KubeClient {
    const { time, faultOf, latency } = this.#options;
    const call = <T>(
      verb: string,
      resource: Addressed,
      options: { signal?: AbortSignal | undefined; timeoutMs?: number | undefined } | undefined,
      carryOut: () => T,
    ): Promise<T> => {
      const fault = faultOf(verb, resource);
      const ms = latency();
      const answer = new Promise<T>((resolve, reject) => {
        if (fault && 'hangs' in fault) {
          if (fault.hangs === 'after') time.after(ms, () => void attempt(carryOut));
          time.after(options?.timeoutMs ?? TIMEOUT_MS, () =>
            reject(new KubeError(verb, 'no answer in time', { status: 0, reason: 'Timeout' })),
          );
          return;
        }
        time.after(ms / 2, () => {
          const result = fault
            ? { error: new KubeError(verb, fault.reason, fault) }
            : attempt(carryOut);
          time.after(ms / 2, () =>
            'error' in result ? reject(result.error) : resolve(result.value),
          );
        });
      });
      const received = process.receive(answer);
      const signal = options?.signal;
      if (!signal) return received;
      return new Promise((resolve, reject) => {
        const giveUp = (): void => reject(signal.reason);
        if (signal.aborted) giveUp();
        signal.addEventListener('abort', giveUp, { once: true });
        const done = (): void => signal.removeEventListener('abort', giveUp);
        received.then(resolve, reject).finally(done);
      });
    };
    const parsed = <T extends object>(r: ResourceType<T>, object: object): T =>
      r.schema.parse(object);
    return {
      get: (r, { namespace, name }, options) =>
        call('get', r, options, () => {
          const object = this.get(keyOf(r), name, namespace);
          if (!object) throw refusal('get', 404, 'NotFound');
          return parsed(r, object);
        }),
      list: (r, options = {}) =>
        call('list', r, options, () => ({
          items: this.all(keyOf(r))
            .filter((object) => isSelected(object, options))
            .map((object) => parsed(r, object)),
          resourceVersion: String(this.#version),
        })),
      create: (r, body, options) =>
        call('create', r, options, () => parsed(r, this.#createAs(r, body))),
      replace: (r, body, options) =>
        call('replace', r, options, () =>
          parsed(r, this.#replaceAs(r, asStored(body), options?.subresource)),
        ),
      patch: (r, { namespace, name }, { patch, ...options }) =>
        call('patch', r, options, () => {
          if (keyOf(r) === EVENTS) return parsed(r, {});
          return parsed(r, this.#patchAs(r, { namespace, name }, patch));
        }),
      delete: (r, { namespace, name }, options) =>
        call('delete', r, options, () => this.delete(keyOf(r), name, namespace)),
      watch: async (r, options) => {
        await call('watch', r, options, () => undefined);
        return this.#watch(r, process, options);
      },
      // No pod of a walk prints anything.
      logs: () => Promise.reject(refusal('get', 404, 'NotFound')),
      serverVersion: async () => 'v0.0.0',
      unansweredForMs: () => undefined,
      connections: () => 1,
      close: async () => undefined,
    };
  }

  #createAs(r: Addressed, body: NewObject): object {
    if (keyOf(r) === EVENTS) return {};
    if (r.kind === 'TokenReview') return reviewOf(body);
    return this.create(keyOf(r), asStored(structuredClone(body)));
  }

  #replaceAs(r: Addressed, body: Stored, subresource: string | undefined): Stored {
    const { namespace, name, uid, resourceVersion } = body.metadata;
    this.#fence(r, { namespace, name }, { uid, resourceVersion });
    return this.update(
      keyOf(r),
      name,
      (before) => {
        if (subresource === 'status') return { ...before, status: structuredClone(body.status) };
        const { creationTimestamp, generation, resourceVersion: version } = before.metadata;
        const kept = { creationTimestamp, ...(generation !== undefined && { generation }) };
        const metadata = {
          ...body.metadata,
          ...kept,
          uid: before.metadata.uid,
          resourceVersion: version,
        };
        return { ...structuredClone(body), metadata };
      },
      namespace,
    );
  }

  #patchAs(
    r: Addressed,
    key: { namespace?: string | undefined; name: string },
    patch: Patch,
  ): Stored {
    if (patch.type !== 'merge') throw new Error(`no ${patch.type} patches here`);
    const { metadata = {} } = patch.body as { metadata?: Partial<ObjectMeta> };
    const { uid, resourceVersion, ...changes } = metadata;
    this.#fence(r, key, { uid, resourceVersion });
    return this.update(
      keyOf(r),
      key.name,
      (before) => ({ ...before, metadata: { ...before.metadata, ...changes } }),
      key.namespace,
    );
  }

  #fence(
    r: Addressed,
    { namespace, name }: { namespace?: string | undefined; name: string },
    fence: { uid?: string | undefined; resourceVersion?: string | undefined },
  ): void {
    const present = this.get(keyOf(r), name, namespace);
    if (!present) throw refusal('write', 404, 'NotFound');
    const { uid, resourceVersion } = present.metadata;
    const isOther = fence.uid !== undefined && fence.uid !== uid;
    const isLater =
      fence.resourceVersion !== undefined && fence.resourceVersion !== resourceVersion;
    if (isOther || isLater) throw refusal('write', 409, 'Conflict');
  }

  #of(resource: string): Map<string, Stored> {
    let objects = this.#objects.get(resource);
    if (!objects) this.#objects.set(resource, (objects = new Map()));
    return objects;
  }

  #put(resource: string, object: Stored, before: Stored | undefined): Stored {
    const metadata = { ...object.metadata, resourceVersion: String((this.#version += 1)) };
    const now = { ...object, metadata };
    this.#of(resource).set(`${metadata.namespace}/${metadata.name}`, now);
    this.#tell(resource, { type: before ? 'MODIFIED' : 'ADDED', now, before });
    this.#options.onChange({ resource, before, now });
    return now;
  }

  #remove(resource: string, before: Stored): Stored {
    const { namespace, name } = before.metadata;
    this.#of(resource).delete(`${namespace}/${name}`);
    const metadata = { ...before.metadata, resourceVersion: String((this.#version += 1)) };
    const now = { ...before, metadata };
    this.#tell(resource, { type: 'DELETED', now, before });
    this.#options.onChange({ resource, before, now: undefined });
    return now;
  }

  readonly #listeners = new Map<string, Set<(event: Logged) => void>>();

  #tell(resource: string, event: Omit<Logged, 'version'>): void {
    const logged = { ...event, version: this.#version };
    const log = this.#logs.get(resource) ?? [];
    this.#logs.set(resource, [...log, logged]);
    for (const listener of this.#listeners.get(resource) ?? []) listener(logged);
  }

  /**
   * @returns from when on the process can know of an object that was created at `createdAt`;
   *   Infinity: not yet, since its watch has ended before and no other has begun
   */
  canKnowFrom(process: Process, resource: string, createdAt: number): number {
    const watched = this.#watched.findLast(
      (watch) => watch.process === process && watch.resource === resource,
    );
    if (watched === undefined) return createdAt;
    return createdAt > watched.to ? Infinity : Math.max(createdAt, watched.from);
  }

  /** Chunks arrive in order, each after a delay. */
  #watch(
    r: Addressed,
    process: Process,
    options: Selection & { resourceVersion: string; timeoutSeconds: number; signal: AbortSignal },
  ): AsyncIterable<Uint8Array> {
    const { time, watchDelay } = this.#options;
    const resource = keyOf(r);
    const arrived: Uint8Array[] = [];
    let isOver = false;
    let wake = (): void => undefined;
    let lastAt = 0;
    const deliver = (callback: () => void): void => {
      lastAt = Math.max(lastAt, time.monotonic() + watchDelay());
      time.after(lastAt - time.monotonic(), () =>
        process.deliver(() => {
          callback();
          wake();
        }),
      );
    };
    const send = (event: object): void =>
      deliver(() => arrived.push(Buffer.from(`${JSON.stringify(event)}\n`)));
    const end = (): void => {
      stop();
      deliver(() => {
        isOver = true;
      });
    };
    const watched = { process, resource, from: time.monotonic(), to: Infinity };
    const known = new Map<string, Stored>();
    const listener = ({ type, now, before }: Logged): void => {
      const is = type !== 'DELETED' && isSelected(now, options);
      const was = before !== undefined && isSelected(before, options);
      if (!is && !was) return;
      const { uid } = now.metadata;
      if (is) known.set(uid, now);
      else known.delete(uid);
      const told = is ? (was ? 'MODIFIED' : 'ADDED') : 'DELETED';
      send({ type: told, object: now });
    };
    const watch = {
      resource,
      end,
      repeat: () => known.forEach((object) => send({ type: 'MODIFIED', object })),
    };
    const stop = (): void => {
      if (this.#watches.delete(watch)) watched.to = time.monotonic();
      this.#listeners.get(resource)?.delete(listener);
    };
    if (Number(options.resourceVersion) < this.#oldest) {
      const object = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' };
      send({ type: 'ERROR', object });
      end();
    } else {
      for (const event of this.#logs.get(resource) ?? [])
        if (event.version > Number(options.resourceVersion)) listener(event);
      let listeners = this.#listeners.get(resource);
      if (!listeners) this.#listeners.set(resource, (listeners = new Set()));
      listeners.add(listener);
      this.#watches.add(watch);
      this.#watched.push(watched);
      time.after(options.timeoutSeconds * 1_000, end);
    }
    options.signal.addEventListener('abort', () => {
      stop();
      wake();
    });
    return {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          for (;;) {
            if (options.signal.aborted) throw options.signal.reason;
            const value = arrived.shift();
            if (value !== undefined) return { done: false, value };
            if (isOver) return { done: true, value: undefined };
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        },
        return: async () => {
          stop();
          return { done: true, value: undefined };
        },
      }),
    };
  }

  #timestamp(): string {
    return new Date(this.#options.time.now()).toISOString().replace(/\.\d+Z$/, 'Z');
  }
}

export const NAMESPACE = 'edge';
const EVENTS = '/events';

/** What clients send has no more than they know of it. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const asStored = (body: object): Stored => body as Stored;

export const keyOf = ({ group, plural }: Addressed): string => `${group}/${plural}`;

const refusal = (verb: string, status: number, reason: string): KubeError =>
  new KubeError(verb, reason, { status, reason });

const attempt = <T>(work: () => T): { value: T } | { error: unknown } => {
  try {
    return { value: work() };
  } catch (error) {
    return { error };
  }
};

const isSelected = ({ metadata }: Stored, { namespace, labelSelector }: Selection): boolean => {
  if (namespace !== undefined && metadata.namespace !== namespace) return false;
  if (labelSelector === undefined) return true;
  return labelSelector.split(',').every((requirement) => {
    const [label = '', value] = requirement.split('=');
    const present = metadata.labels?.[label];
    return value === undefined ? present !== undefined : present === value;
  });
};

const claimsSchema = z.object({
  'kubernetes.io': z.object({
    namespace: z.string(),
    pod: z.object({ name: z.string(), uid: z.string() }),
  }),
});

/** Every token is genuine. */
const reviewOf = (body: NewObject): object => {
  const { token } = z.object({ token: z.string() }).parse(body['spec']);
  const text = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8');
  const { namespace, pod } = claimsSchema.parse(JSON.parse(text))['kubernetes.io'];
  return {
    ...body,
    metadata: {},
    status: {
      authenticated: true,
      audiences: ['sdewan-coordinator'],
      user: {
        username: `system:serviceaccount:${namespace}:default`,
        extra: {
          'authentication.kubernetes.io/pod-name': [pod.name],
          'authentication.kubernetes.io/pod-uid': [pod.uid],
        },
      },
    },
  };
};
