/** The command was used wrongly; the message says how. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** What a person has named is not there. */
export class NotThereError extends Error {
  override name = 'NotThereError';
}
