/**
 * Whether npm has installed what the lockfile asks for, whichever user called it: npm writes what
 * it has put into node_modules into a lockfile in there. Plain JavaScript on node: modules only, as
 * bootstrap.mjs, which needs it before anything is installed.
 */
import { isDeepStrictEqual } from 'node:util';

/**
 * @param {string} wanted text of package-lock.json
 * @param {string} present text of node_modules/.package-lock.json
 */
export const isInstalled = (wanted, present) => {
  const { '': _root, ...packages } = packagesOf(wanted);
  const there = packagesOf(present);
  return (
    Object.entries(packages).every(([path, one]) =>
      // Packages of another platform.
      path in there ? isDeepStrictEqual(there[path], one) : one.optional === true,
    ) && Object.keys(there).every((path) => path in packages)
  );
};

const packagesOf = (text) => JSON.parse(text).packages ?? {};
