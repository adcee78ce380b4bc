/** Something that was thrown, as a text or an error. */

/** The message of an error and of what caused it, in one line; the text of anything else. */
export const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const own = error.message === '' ? error.name : error.message;
  if (error.cause === undefined) return own;
  const cause = messageOf(error.cause);
  return own.includes(cause) ? own : `${own}: ${cause}`;
};

export const toError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(messageOf(thrown));

/** Node's own words carry no payload; the code is what operators search for. */
export const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error ? `${String(error.code)} ${error.message}`.trim() : error.message;
};
