/** What can be seen of a page without a browser: landmarks, headings, labels, tables, and that all can be reached with the keyboard. */
import { describe, expect, it } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import { ready } from '../../cli/cluster/testing.ts';
import { dashboardOf, podOf } from '../testing.ts';

const rule = { ...ruleOf('FirewallRule', 'r', {}), status: ready(false, 'AgentSilent', 'why') };
const event = {
  namespace: 'default',
  involved: { kind: 'FirewallRule', name: 'r', uid: rule.metadata.uid },
  type: 'Warning',
  reason: 'AgentSilent',
  message: 'why',
  count: 1,
  last: '2026-01-01T00:00:00Z',
};

const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, found = '']) => found);

describe.each([
  '/',
  '/cnf/default/cnf-1',
  '/rule/default/FirewallRule/r',
  '/firewall/default/cnf-1',
  '/firewall/default/cnf-1?src=10.0.0.1&dst=10.0.0.2',
  '/events',
  '/none',
  'nobody is signed in',
])('%s', (path) => {
  const page = async (): Promise<string> => {
    const { get, signIn } = dashboardOf({ rules: [rule], pods: [podOf('a')], events: [event] });
    const cookie = path.startsWith('/') ? await signIn() : '';
    return (await get(path.startsWith('/') ? path : '/', cookie)).text();
  };

  it('has a language, a title, one main part and one first heading', async () => {
    const text = await page();
    expect(text).toMatch(/^<!doctype html>\s*<html lang="en">/);
    expect(all(text, /<title>([^<]+)<\/title>/g)).toHaveLength(1);
    expect(all(text, /<(main) /g)).toHaveLength(1);
    expect(all(text, /<(h1)>/g)).toHaveLength(1);
    expect(text).toContain('<a class="skip" href="#main">');
    expect(text).toContain('width=device-width');
  });

  it('has a label for each field, and words in each button and link', async () => {
    const text = await page();
    const fields = all(text, /<(?:input|select)[^>]*\sid="([^"]+)"/g);
    expect(fields.length).toBe(all(text, /<(input|select)\b/g).length);
    for (const id of fields) expect(text).toMatch(new RegExp(`<label\\s+for="${id}"`));
    expect(all(text, /<(?:a|button)\b[^>]*>(\s*)<\/(?:a|button)>/g)).toEqual([]);
  });

  it('uses each id once, and no order of its own for the keyboard', async () => {
    const text = await page();
    const ids = all(text, /\bid="([^"]+)"/g);
    expect(new Set(ids).size).toBe(ids.length);
    for (const order of all(text, /tabindex="([^"]+)"/g)) expect(['0', '-1']).toContain(order);
    expect(text).not.toMatch(/ on[a-z]+="/);
  });

  it('has tables with a caption and headers, in parts that scroll and can be reached', async () => {
    const text = await page();
    const tables = all(text, /(<table>)/g).length;
    expect(
      all(text, /<div class="scroll" role="region" aria-label="([^"]+)" tabindex="0"/g),
    ).toHaveLength(tables);
    expect(all(text, /(<caption>)/g)).toHaveLength(tables);
    expect(all(text, /(<th>)/g)).toEqual([]);
    expect(all(text, /(<th scope="row">)/g).length >= tables).toBe(true);
  });

  it('has the signs that colours give in words, too, and hides them from readers', async () => {
    for (const signed of all(
      await page(),
      /<span class="(?:good|bad|wait|none)">(.*?)<\/span><\/?/gs,
    ))
      expect(signed).toMatch(/^<span aria-hidden="true">.<\/span> \S/s);
  });
});
