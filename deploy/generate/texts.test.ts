import { describe, expect, it } from 'vitest';
import { constantsOf, textsOf } from './texts.ts';

const only = (source: string) => textsOf(source).map(({ text }) => text);

describe('the texts of a source file', () => {
  it.each<[string, string, string[]]>([
    ['a literal', "say('done')", ['done']],
    [
      'what is put in, by its name',
      'say(`${rule.kind} ${names.join(", ")} is gone`)',
      ['<kind> <names> is gone'],
    ],
    ['a call, by its own name', 'say(`since ${timestamp(at)}`)', ['since <timestamp>']],
    ['an expression without a name', 'say(`over ${a * b} bytes`)', ['over <…> bytes']],
    ['both sides of a choice', "say(ready ? 'ready' : 'not ready')", ['ready', 'not ready']],
    ['a choice within a text', "say(`change ${one ? 'it' : 'them'}`)", ['change it|them']],
    ['what can be absent', "say(`not ready${why ? ` (${why})` : ''}`)", ['not ready[ (<why>)]']],
    ['a text in parts', "say('a ' + 'b ' + count)", ['a b <count>']],
    [
      'what was tried, and why it failed',
      "throw new OpenwrtError(`read ${name}`, 'it is gone')",
      ['read <name>: it is gone'],
    ],
    [
      'no types and no imports',
      "import 'x y'; type A = 'some words'; const a = b as 'other words'",
      [],
    ],
    ['no parts of pages', "const page = html`<p>${many ? 'many words' : 'few words'}</p>`", []],
  ])('hold %s', (_what, source, texts) => {
    expect(only(source)).toEqual(texts);
  });

  it('include a log message with its level and fields', () => {
    const [found] = textsOf("deps.log.warn({ err, rule: nameOf(rule) }, 'rule not written')");
    expect(found).toEqual({
      text: 'rule not written',
      within: ['warn'],
      log: { level: 'warn', keys: ['err', 'rule'] },
    });
  });

  it('include the reason, of the same object or the same call', () => {
    const source =
      "f({ reason: 'InUse', message: 'is used' }); because('AgentSilent', 'is silent')";
    expect(textsOf(source).filter(({ text }) => text.startsWith('is '))).toMatchObject([
      { text: 'is used', reason: 'InUse' },
      { text: 'is silent', reason: 'AgentSilent' },
    ]);
  });

  it('show constants by their values', () => {
    const source =
      "export const LABEL = 'sdewanPurpose'; const MAX = 10; say(`label ${LABEL}, ${MAX} at most`)";
    expect(textsOf(source, constantsOf(source)).at(-1)?.text).toBe(
      'label sdewanPurpose, 10 at most',
    );
  });
});
