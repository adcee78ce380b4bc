/** What ICN's controller does to a CNF: the REST calls with which it configures one, in its order of things. */
import { ICN_FINALIZERS } from '#shared/names.ts';
import type { JudgedSection } from '../../../judge/uci.ts';
import type { TestOpenwrt } from './openwrt.ts';

/** What it puts on most CRs that it has applied. */
export const ICN_FINALIZER = 'rule.finalizers.sdewan.akraino.org';
export const ofIcn = { finalizers: [ICN_FINALIZER] };
if (!ICN_FINALIZERS.includes(ICN_FINALIZER)) throw new Error('not one of the twelve');

/** `path` below /cgi-bin/luci/sdewan/. @throws Error when REST refuses */
export const icnPost = async (openwrt: TestOpenwrt, path: string, body: object): Promise<void> => {
  const url = `${openwrt.simulator.url}/cgi-bin/luci/sdewan/${path}`;
  const answer = await openwrt.clock.until(
    fetch(url, { method: 'POST', body: JSON.stringify(body) }),
  );
  const text = await answer.text();
  if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${text}`);
};

/** The texts of a package after each write since the `after`th entry of the journal, and who wrote. */
export const writesSince = (
  openwrt: TestOpenwrt,
  after: number,
): { package: string; call: string; text: string }[] =>
  openwrt.simulator
    .journal()
    .flatMap((entry) =>
      entry.event === 'write' && entry.seq > after && entry.by.call !== 'factory'
        ? [{ package: entry.package, call: entry.by.call, text: entry.text ?? '' }]
        : [],
    );

export const lastEntry = (openwrt: TestOpenwrt): number =>
  openwrt.simulator.journal().at(-1)?.seq ?? 0;

/** Sections whose name, or option `name`, is this. */
export const called = (sections: readonly JudgedSection[], name: string): JudgedSection[] =>
  sections.filter((section) => section.name === name || section.options['name'] === name);
