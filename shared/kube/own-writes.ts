/**
 * Objects as this program has written them last: the watch shows a write a little later, and one
 * that is judged on the version before it is refused.
 */
import { isLater, type KubeObject } from './objects.ts';

export type OwnWrites<T> = {
  note: (written: T) => void;
  /** The object is gone. */
  forget: (uid: string) => void;
  /** The one that was written, as long as it is later than what the watch has shown. */
  latest: (shown: T) => T;
};

/** `objectOf`: of what is kept for each object. */
export const createOwnWrites = <T>(objectOf: (of: T) => KubeObject): OwnWrites<T> => {
  const byUid = new Map<string, T>();
  return {
    note: (written) => byUid.set(objectOf(written).metadata.uid, written),
    forget: (uid) => byUid.delete(uid),
    latest: (shown) => {
      const object = objectOf(shown);
      const { uid } = object.metadata;
      const written = byUid.get(uid);
      if (written && isLater(objectOf(written), object)) return written;
      byUid.delete(uid);
      return shown;
    },
  };
};
