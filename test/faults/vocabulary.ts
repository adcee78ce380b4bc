/**
 * The rules that the steady stream of changes writes: those of test/faults/walks, and as many
 * FirewallRules more, so that there is always one to create and one to delete. What OpenWRT must
 * hold for each stands there and here by hand: nothing of this is made by the compiler that it
 * judges.
 */
import { WORDS, type Variant, type Word } from './walks/vocabulary.ts';

export type { Word } from './walks/vocabulary.ts';

const NUMBERED = 24;

const numbered = (index: number): Word => ({
  kind: 'FirewallRule',
  plural: 'firewallrules',
  name: `rule-${index}`,
  package: 'firewall',
  variants: ['80', '443', '8080'].map((port, at): Variant => {
    const target = ['DROP', 'REJECT', 'ACCEPT'][at] ?? '';
    return {
      spec: { src_ip: `10.2.0.${index + 1}`, proto: 'tcp', dest_port: port, target },
      text: `
config rule 'sdewan_rule_rule_${index}'
	option name 'rule-${index}'
	option src_ip '10.2.0.${index + 1}'
	option proto 'tcp'
	option dest_port '${port}'
	option target '${target}'
`,
    };
  }),
});

/** Without wrong specs: their author has no device to compare with. */
const isRight = ({ text }: Variant): boolean => text !== undefined;

export const vocabulary: readonly Word[] = [
  ...WORDS.map((word) => ({ ...word, variants: word.variants.filter(isRight) })),
  ...Array.from({ length: NUMBERED }, (_, index) => numbered(index)),
];
