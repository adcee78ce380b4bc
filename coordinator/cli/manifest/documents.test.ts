import { describe, expect, it } from 'vitest';
import { transformManifest } from './documents.ts';

const added = (value: unknown): unknown => ({
  ...(value as object),
  added: { on: 'yes', count: 1, flag: true },
});

describe('transformManifest', () => {
  it.each([
    ['nothing', ''],
    ['comments only', '# a\n'],
    ['odd spacing', 'a:   1   # one\nb: [1,2]\n\n\n---\n- x\n'],
    ['no line end', 'a: 1'],
    ['JSON', '{"a":1}'],
  ])('gives %s back to the byte when nothing changes', (_, text) => {
    expect(transformManifest(text, (value) => structuredClone(value))).toBe(text);
  });

  it('keeps comments, order and every scalar as it is written', () => {
    const text = [
      '# head',
      'b: 0644 # octal to kubectl',
      'a: yes',
      'c:',
      'd: ~',
      "e: 'quoted'",
      'f: 1e3',
      'g: {x: 1, y: [a, b]}',
      'h: |',
      '  two',
      '    lines',
      'list:',
      '- a',
      '# before b',
      '- b',
      '',
    ].join('\n');
    const changed = transformManifest(text, added);
    expect(changed).toBe(`${text}added:\n  "on": "yes"\n  count: 1\n  flag: true\n`);
  });

  it('indents as the author does', () => {
    const text = 'a:\n    b:\n        - c\n';
    const list = (value: unknown): unknown => ({ ...(value as object), d: { e: ['f'] } });
    expect(transformManifest(text, list)).toBe(`${text}d:\n    e:\n        - f\n`);
    const flat = 'a:\n  b:\n  - c\n';
    expect(transformManifest(flat, list)).toBe(`${flat}d:\n  e:\n  - f\n`);
    const padded = 'a: { b: { c: d } }\n';
    expect(transformManifest(padded, list)).toBe(`${padded}d:\n  e:\n    - f\n`);
  });

  it('changes one document of several, and leaves the others alone', () => {
    const text = '# one\na:   1\n---\nb:   2\n---\nc:   3\n';
    const second = (value: unknown, index: number): unknown =>
      index === 1 ? { b: 2, x: 1 } : value;
    expect(transformManifest(text, second)).toBe('# one\na:   1\n---\nb: 2\nx: 1\n---\nc:   3\n');
  });

  it('reaches into lists by name, and keeps what stands beside', () => {
    const text =
      'list:\n  # first\n  - name: a\n    v: 1\n  # second\n  - name: b\n    v: 2 # two\n';
    const change = (): unknown => ({
      list: [{ name: 'z' }, { name: 'a', v: 1 }, { name: 'b', v: 2, w: 3 }],
    });
    const changed = transformManifest(text, change);
    expect(changed).toContain('    v: 2 # two\n    w: 3\n');
    expect(changed).toMatch(/- name: z\n[^]*- name: a\n[^]*# second\n/);
  });

  it('expands merge keys in what it reads, and writes them back', () => {
    const text = 'base: &base {x: 1}\nuser:\n  <<: *base\n';
    const seen: unknown[] = [];
    const changed = transformManifest(text, (value) => {
      seen.push(value);
      return { ...(value as object), z: 1 };
    });
    expect(seen).toEqual([{ base: { x: 1 }, user: { x: 1 } }]);
    expect(changed).toBe(`${text}z: 1\n`);
  });

  it('refuses to change what an anchor shares', () => {
    const text = 'a: &a\n  x: 1\nb: *a\n';
    const change = (): unknown => ({ a: { x: 1, y: 2 }, b: { x: 1 } });
    expect(() => transformManifest(text, change)).toThrow(/anchors/);
  });

  it.each([
    ['a: [', /end with a \]/, { line: 1, column: 5 }],
    ['a: 1\na: 2\n', /unique/, { line: 2, column: 1 }],
    ['{"a": ', /end with a }/, { line: 1, column: 7 }],
  ])('says where %j is no manifest', (text, words, at) => {
    const read = () => transformManifest(text, (value) => value);
    expect(read).toThrow(words);
    expect(read).toThrow(expect.objectContaining({ name: 'ManifestError', at }));
  });
});
