/**
 * Keeps up with a list of objects: lists, watches, and lists again whenever the watch can't go on.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import { KubeError, type KubeClient } from './client.ts';
import type { KubeObject } from './objects.ts';

export type WatchHandlers<T> = {
  /** Added or changed; the same object can come again after a new list. */
  onChange: (object: T) => void;
  onDelete: (object: T) => void;
};

export type WatchDeps = {
  client: KubeClient;
  /** What went wrong; the watch goes on by itself. */
  onError: (error: unknown) => void;
  signal: AbortSignal;
};

const RETRY_MS = 500;
/**
 * The API server ends a watch after this time; a half-dead connection is noticed by then at the
 * latest.
 */
const WATCH_SECONDS = 240;

type List<T> = { metadata: { resourceVersion: string }; items: T[] };
type WatchEvent<T> = {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: T & { code?: number; message?: string };
};

/**
 * Runs until `signal`; resolves after the first list has been handed on. `path` may have a query.
 */
export const watchList = async <T extends KubeObject>(
  path: string,
  handlers: WatchHandlers<T>,
  deps: WatchDeps,
): Promise<void> => {
  const known = new Map<string, T>();
  const query = path.includes('?') ? '&' : '?';

  const list = async (): Promise<string> => {
    const { metadata, items } = await deps.client.get<List<T>>(path);
    const present = new Set(items.map((item) => item.metadata.uid));
    for (const [uid, object] of known) {
      if (!present.has(uid)) {
        known.delete(uid);
        handlers.onDelete(object);
      }
    }
    for (const item of items) {
      known.set(item.metadata.uid, item);
      handlers.onChange(item);
    }
    return metadata.resourceVersion;
  };

  /** The version to go on from. @throws when only a new list helps. */
  const watch = async (from: string): Promise<string> => {
    let version = from;
    const options = `watch=1&allowWatchBookmarks=true&timeoutSeconds=${WATCH_SECONDS}&resourceVersion=${from}`;
    for await (const line of await deps.client.stream(path + query + options, deps.signal)) {
      const event: WatchEvent<T> = JSON.parse(line);
      const { object } = event;
      if (event.type === 'ERROR') {
        throw new KubeError(`watch ${path}: ${object.message}`, object.code ?? 500, '');
      }
      version = object.metadata.resourceVersion ?? version;
      if (event.type === 'DELETED') {
        known.delete(object.metadata.uid);
        handlers.onDelete(object);
      } else if (event.type !== 'BOOKMARK') {
        known.set(object.metadata.uid, object);
        handlers.onChange(object);
      }
    }
    return version;
  };

  const follow = async (first: string): Promise<void> => {
    let version: string | undefined = first;
    while (!deps.signal.aborted) {
      try {
        version ??= await list();
        version = await watch(version);
      } catch (error) {
        if (deps.signal.aborted) return;
        deps.onError(error);
        // Anything but a plain "gone on elsewhere" is made good by a new list.
        version = undefined;
        await sleep(RETRY_MS, undefined, { signal: deps.signal }).catch(() => {});
      }
    }
  };

  void follow(await list());
};
