import { expect, it } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { collectionOf } from './collections.ts';
import { REMOTES, withoutVti } from './vti.ts';
import type { Write } from './writes.ts';

const collection = collectionOf(REMOTES);
const remote = (name: string, type?: string): UciSection =>
  namedSection('remotes', name, { gateway: '203.0.113.9', ...(type !== undefined && { type }) });
const vti = (name: string): UciSection => remote(name, 'VTI-based');
const removal = (name: string): Write => ({ verb: 'DELETE', collection, name });
const put = (section: UciSection): Write => ({ verb: 'PUT', collection, section });

/** Which writes hold what makes the API reset the option. */
const settingBack = (writes: readonly Write[]): string[] =>
  writes.flatMap((write) => {
    const type = write.verb === 'DELETE' ? write.first?.options['type'] : write.also?.['type'];
    return type === undefined ? [] : [`${write.verb} as ${String(type)}`];
  });

it.each<[string, Write[], UciSection[], string[]]>([
  ['the last is removed', [removal('a')], [vti('a'), remote('b')], ['DELETE as policy-based']],
  ['the last changes', [put(remote('a'))], [vti('a')], ['PUT as policy-based']],
  ['another one stays, also of somebody else', [removal('a')], [vti('a'), vti('b')], []],
  ['another one comes', [removal('a'), put(vti('b'))], [vti('a')], []],
  ['it was none', [removal('b')], [remote('b')], []],
])('what stays for all remotes is set back only with the last: %s', (_what, writes, there, set) => {
  expect(settingBack(withoutVti(writes, there))).toEqual(set);
});
