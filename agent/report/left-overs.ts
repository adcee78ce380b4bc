/** Logs what ICN's controller has left, once whenever that changes: nothing else shows it. */
import { isDeepStrictEqual } from 'node:util';
import type { LeftOver } from '#shared/compile/left-over.ts';
import type { Logger } from '#shared/runtime/log.ts';

/** Names in one line of the log. */
const MAX_NAMES = 32;

export const leftOverLogger = (
  log: Pick<Logger, 'info'>,
): ((leftOvers: readonly LeftOver[]) => void) => {
  let logged: readonly LeftOver[] = [];
  return (leftOvers) => {
    if (isDeepStrictEqual(leftOvers, logged)) return;
    logged = leftOvers;
    const sections = leftOvers
      .slice(0, MAX_NAMES)
      .map(({ package: uciPackage, type, name }) => `${uciPackage} ${type} ${name}`);
    log.info({ count: leftOvers.length, sections }, "sections left over from ICN's controller");
  };
};
