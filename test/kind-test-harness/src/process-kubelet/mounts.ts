/**
 * A process has no mount namespace of its own here, so a path below a mount stands for a path in the pod's folder:
 * wherever a container's command line or environment names the first, the process is given the second.
 */

export type Mount = {
  /** As the container spec says it, without a slash at its end. */
  mountPath: string;
  /** The folder or file of this machine that stands for it. */
  localPath: string;
};

/** Paths stand alone, in lists with `:` or `,`, after `=` or in URLs like `file:///path`. */
const LIST_SEPARATORS = /([:,;= ]|^)(\/\/)?(\/[^:,;= ]*)/g;

/** The path itself when no mount covers it; the innermost mount wins. */
export const toLocalPath = (path: string, mounts: readonly Mount[]): string => {
  const covering = mounts
    .filter(({ mountPath }) => path === mountPath || path.startsWith(`${mountPath}/`))
    .sort((a, b) => b.mountPath.length - a.mountPath.length)[0];
  return covering ? covering.localPath + path.slice(covering.mountPath.length) : path;
};

/** Every path in a value that a mount covers, rewritten; everything else as it was. */
export const rewritePaths = (value: string, mounts: readonly Mount[]): string =>
  value.replace(
    LIST_SEPARATORS,
    (_, before: string, slashes: string | undefined, path: string) =>
      `${before}${slashes ?? ''}${toLocalPath(path, mounts)}`,
  );
