/** Cuts a report into pages that stay below the coordinator's body limit. Pure. */
import { MAX_RULES_PER_PAGE, type RuleReport } from '#shared/protocol/report.ts';

/** Rules of one page as JSON; the body limit is 1 MiB. */
const MAX_PAGE_BYTES = 524_288;

/** At least one page, the last ones no emptier than need be; the order is kept. */
export const pagesOf = (rules: readonly RuleReport[]): RuleReport[][] => {
  const pages: RuleReport[][] = [];
  let page: RuleReport[] = [];
  let bytes = 0;
  for (const rule of rules) {
    const size = Buffer.byteLength(JSON.stringify(rule)) + 1;
    if (page.length === MAX_RULES_PER_PAGE || bytes + size > MAX_PAGE_BYTES) {
      pages.push(page);
      page = [];
      bytes = 0;
    }
    page.push(rule);
    bytes += size;
  }
  return [...pages, page];
};
