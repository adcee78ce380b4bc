/** The command was used wrongly; the message says how. */
export class UsageError extends Error {
  override name = 'UsageError';
}
