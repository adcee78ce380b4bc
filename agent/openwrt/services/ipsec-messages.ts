/**
 * What the reload of IPsec says on its stderr. charon loads each connection by itself: one that it
 * refuses is not loaded, all others are, and the script ends with a code that tells nothing of
 * which (measured; swanctl's only, since the classic one says nothing).
 */

const REFUSED = /^loading connection '(.+)' failed: (.+)$/gm;

/** Section of a remote, which is the connection's name -> the words about it. */
export const refusedConnections = (stderr: string): ReadonlyMap<string, string> =>
  new Map([...stderr.matchAll(REFUSED)].map(([words, name = '']) => [name, words]));
