import { describe, expect, it } from 'vitest';
import { parseFile, parsePackage, UciSyntaxError } from './parse.ts';

const accepted: Record<string, { text: string; sections: unknown[] }> = {
  'named and anonymous sections, quotes of both kinds and none': {
    text: `config defaults\n\toption input REJECT\n\nconfig zone 'lan'\n\toption name "lan"\n\tlist network 'a'\n\tlist network b\n`,
    sections: [
      { name: 'cfg01e63d', anonymous: true, type: 'defaults', options: { input: 'REJECT' } },
      {
        name: 'lan',
        anonymous: false,
        type: 'zone',
        options: { name: 'lan', network: ['a', 'b'] },
      },
    ],
  },
  'anonymous ids as rpcd answers them (recording ubus, `uci get package`)': {
    text: 'config defaults\nconfig zone\nconfig zone\nconfig forwarding\nconfig rule\n',
    sections: ['cfg01e63d', 'cfg02dc81', 'cfg03dc81', 'cfg04ad58', 'cfg0592bd'].map((name) =>
      expect.objectContaining({ name, anonymous: true }),
    ),
  },
  'comments, blank lines, a package line, several commands in a line': {
    text: `package firewall\n# config no 'no'\n  config rule 'r' # why\n\toption a b#c\n\toption d 'e'; option f g\n`,
    sections: [{ name: 'r', anonymous: false, type: 'rule', options: { a: 'b', d: 'e', f: 'g' } }],
  },
  'escapes, parts that touch, values over lines': {
    text: `config rule r\n\toption a 'it'\\''s'\n\toption b "x\\"y\\\\z"\n\toption c 'one\ntwo'\n\toption d one\\ two\n\toption e 'a'"b"c\n\toption f x\\\ny\n\toption g 'back\\'\n`,
    sections: [
      {
        name: 'r',
        anonymous: false,
        type: 'rule',
        options: {
          a: "it's",
          b: 'x"y\\z',
          c: 'one\ntwo',
          d: 'one two',
          e: 'abc',
          f: 'xy',
          g: 'back\\',
        },
      },
    ],
  },
  'the last of equal options, none that is empty, a list that begins with an option': {
    text: "config rule r\noption a 1\noption a 2\noption b 3\noption b ''\noption c first\nlist c second\nlist d ''\n",
    sections: [
      {
        name: 'r',
        anonymous: false,
        type: 'rule',
        options: { a: '2', b: '3', c: ['first', 'second'], d: [''] },
      },
    ],
  },
  'a section that is opened twice': {
    text: 'config rule r\noption a 1\nconfig zone z\nconfig rule r\noption b 2\n',
    sections: [
      { name: 'r', anonymous: false, type: 'rule', options: { a: '1', b: '2' } },
      { name: 'z', anonymous: false, type: 'zone', options: {} },
    ],
  },
  'the short forms of commands': {
    text: 'p firewall\nc rule r\no a 1\nl b 2\nl b 3\n',
    sections: [{ name: 'r', anonymous: false, type: 'rule', options: { a: '1', b: ['2', '3'] } }],
  },
  'lines that end as on Windows': {
    text: 'config rule r\r\n\toption a 1\r\n\toption b x\\\r\ny\r\n',
    sections: [{ name: 'r', anonymous: false, type: 'rule', options: { a: '1', b: 'xy' } }],
  },
  'a comment right behind a value, and a last line without an end': {
    text: "config rule r\n\toption a 'x'# why\n\toption b y",
    sections: [{ name: 'r', anonymous: false, type: 'rule', options: { a: 'x', b: 'y' } }],
  },
  'a comment as the last line, without an end': {
    text: 'config rule r\n#',
    sections: [{ name: 'r', anonymous: false, type: 'rule', options: {} }],
  },
  'all that C takes for blanks': {
    text: '\v\fconfig rule\f\v r \n\n\v option a 1\n',
    sections: [{ name: 'r', anonymous: false, type: 'rule', options: { a: '1' } }],
  },
  'a backslash at the very end': {
    text: 'config rule r\noption a x\\',
    sections: [{ name: 'r', anonymous: false, type: 'rule', options: { a: 'x' } }],
  },
  'a package whose name has digits, dashes and underscores': {
    text: 'package A-z_0\n',
    sections: [],
  },
  'a bare argument that ends in a semicolon, which drops the rest of the line': {
    text: 'config rule r; option a 1\noption b 1;option b 2\noption c 3; # why\n',
    sections: [{ name: 'r', anonymous: false, type: 'rule', options: { b: '1', c: '3' } }],
  },
  'nothing at all': { text: '', sections: [] },
};

describe('parsePackage reads what libuci reads:', () => {
  it.each(Object.entries(accepted))('%s', (_sentence, { text, sections }) => {
    expect(parsePackage('firewall', text)).toEqual({ name: 'firewall', sections });
  });
});

const refused: Record<string, { text: string; line: number; says: string }> = {
  'an unknown command': { text: 'config rule r\nopton a b\n', line: 2, says: 'invalid command' },
  'a command that is the name of what each object of JavaScript has': {
    text: 'toString\n',
    line: 1,
    says: 'invalid command',
  },
  'an option before any section': {
    text: 'option a b\n',
    line: 1,
    says: 'option/list command found before the first section',
  },
  'a quote that is never closed': {
    text: "config rule r\n\toption a 'b\n\toption c d\n",
    line: 2,
    says: "unterminated '",
  },
  'a double quote that is never closed': {
    text: 'config rule r\noption a "b\n',
    line: 2,
    says: 'unterminated "',
  },
  'a quoted argument with a semicolon at the end of its line': {
    text: "config rule r\noption a '1';\n",
    line: 2,
    says: 'invalid command',
  },
  'too many arguments': { text: 'config rule r x\n', line: 1, says: 'too many arguments' },
  'too few arguments': { text: 'config\n', line: 1, says: 'insufficient arguments' },
  'a package without a name': { text: 'package\n', line: 1, says: 'insufficient arguments' },
  'a package name with a dot': {
    text: 'package a.b\n',
    line: 1,
    says: 'invalid character in name field',
  },
  'a package name that begins well': {
    text: 'package a/\n',
    line: 1,
    says: 'invalid character in name field',
  },
  'a section type with a space': {
    text: "config 'a b'\n",
    line: 1,
    says: 'invalid character in type field',
  },
  'a section type that is no ASCII': {
    text: 'config é\n',
    line: 1,
    says: 'invalid character in type field',
  },
  'a section name with a dash': {
    text: 'config rule a-b\n',
    line: 1,
    says: 'invalid character in name field',
  },
  'an option name with a dot': {
    text: 'config rule r\noption a.b c\n',
    line: 2,
    says: 'invalid character in name field',
  },
  'one name with two types': {
    text: 'config rule r\nconfig zone r\n',
    line: 2,
    says: 'section of different type overwrites prior section with same name',
  },
  'a NUL': { text: 'config rule r\0\n', line: 1, says: 'NUL character' },
  'a line behind values over several lines, joined lines and comments': {
    text: `# 1\nconfig rule r # 2\n\toption a 'x\ny\nz'\n\toption b "x\ny" \\\n\n# 9\nnonsense\n`,
    line: 10,
    says: 'invalid command',
  },
};

describe('parsePackage refuses what libuci refuses:', () => {
  it.each(Object.entries(refused))('%s', (_sentence, { text, line, says }) => {
    const parse = () => parsePackage('firewall', text);
    expect(parse).toThrow(UciSyntaxError);
    expect(parse).toThrow(`line ${line}: ${says}`);
  });

  it('gives the number of the line', () => {
    const error = new UciSyntaxError(7, 'invalid command');
    expect([error.name, error.line]).toEqual(['UciSyntaxError', 7]);
  });
});

describe('comments', () => {
  it.each([
    ['a line of its own', '# why\nconfig rule r\n'],
    ['an indented one', 'config rule r\n\t# why\n'],
    ['behind a section', 'config rule r # why\n'],
    ['behind an option', "config rule r\n\toption a 'b' # why"],
    ['right behind a word', 'config rule r\n\toption a b#c\n'],
  ])('are seen: %s', (_what, text) => {
    expect(parseFile('firewall', text).hasComments).toBe(true);
  });

  it.each([
    ['none', "config rule 'r'\n\toption a 'b'\n"],
    ['in quotes', "config rule 'r'\n\toption a '# b'\n\toption c \"# d\"\n"],
    ['escaped', 'config rule r\n\toption a \\#b\n'],
  ])('are not seen where there are none: %s', (_what, text) => {
    expect(parseFile('firewall', text).hasComments).toBe(false);
  });
});
