/**
 * A process has no mount namespace of its own here. Instead each container has a root folder in
 * which its mounts lie at their mount paths, and wherever its command line or environment names a
 * path below a mount, the process is given the path below its root.
 */

export type Mounts = {
  /** The container's root folder on this machine. */
  root: string;
  /** As the container spec says them, without a slash at the end. */
  mountPaths: readonly string[];
};

/**
 * The place on this machine of a path in the container; paths that no mount covers are this
 * machine's own.
 */
export const toLocalPath = (path: string, { root, mountPaths }: Mounts): string =>
  mountPaths.some((mountPath) => path === mountPath || path.startsWith(`${mountPath}/`))
    ? root + path
    : path;

/**
 * Every path in a text that a mount covers, rewritten: alone, in lists, after `=`, in quotes, in
 * `file://` URLs.
 */
export const rewritePaths = (text: string, { root, mountPaths }: Mounts): string => {
  if (mountPaths.length === 0) return text;
  const alternatives = [...mountPaths]
    .sort((a, b) => b.length - a.length)
    .map((mountPath) => mountPath.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`));
  const pattern = new RegExp(
    String.raw`(?<=^|file://|[^\w./~-])(?:${alternatives.join('|')})(?=/|[^\w.-]|$)`,
    'g',
  );
  return text.replaceAll(pattern, (path) => root + path);
};
