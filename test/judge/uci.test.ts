import { expect, it } from 'vitest';
import { readUci } from './uci.ts';

it('reads what libuci writes', () => {
  const text = `
config defaults
	option input 'REJECT'

config rule 'sdewan_rule_a'
	option name 'it'\\''s "q" $x #y \\'
	list proto 'tcp'
	list proto 'udp'
	option desc 'one
two'
`;
  expect(readUci(text)).toEqual([
    { name: undefined, type: 'defaults', options: { input: 'REJECT' } },
    {
      name: 'sdewan_rule_a',
      type: 'rule',
      options: { name: `it's "q" $x #y \\`, proto: ['tcp', 'udp'], desc: 'one\ntwo' },
    },
  ]);
});

it.each([
  "option a 'b'\n",
  "config rule 'a\n",
  'config rule x y\n',
  'config rule\n\tnonsense a b\n',
  'config "rule"\n',
])('refuses what libuci never writes: %j', (text) => {
  expect(() => readUci(text)).toThrow('not UCI');
});
