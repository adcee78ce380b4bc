/** The firewall package of the rig before anything was changed: OpenWRT's own. */
import { CUT, type Recording } from '../recordings/read.ts';

/**
 * Bytes of OpenWRT's own firewall package, as the rig had it, and of that without its commented
 * examples at the end.
 */
const STOCK_BYTES = { all: 4064, withoutExamples: 2791 };
/** How many of those bytes JSON escapes, in the parts that the record lacks. */
const ESCAPED = { rest: 156, examples: 154 };

/**
 * The stock firewall package: its beginning as it was recorded, the other sections as `uci get`
 * showed them, and comments of the right size for those that were not recorded.
 */
export const stockFirewall = ({
  exchanges,
}: Recording): { withExamples: string; withoutExamples: string } => {
  const recorded = exchanges.find(({ name }) => name === 'big: file.read of it');
  const data = /"data":"(.*)/.exec(recorded?.response?.body ?? '')?.[1] ?? '';
  const lines = data.slice(0, -CUT.length).split('\\n').slice(0, -1).join('\\n');
  const beginning: string = JSON.parse(`"${lines}\\n"`);
  const rest = REST_OF_STOCK;
  const withoutExamples =
    beginning +
    rest +
    comment(
      STOCK_BYTES.withoutExamples - beginning.length - rest.length,
      ESCAPED.rest - escapes(rest),
    );
  const examples = comment(STOCK_BYTES.all - STOCK_BYTES.withoutExamples, ESCAPED.examples);
  return { withoutExamples, withExamples: withoutExamples + examples };
};

/** A comment line of that many bytes, so many of them escaped in JSON. */
const comment = (bytes: number, escaped: number): string =>
  `#${'\t'.repeat(escaped - 1)}${' '.repeat(bytes - escaped - 1)}\n`;

const escapes = (text: string): number => text.replaceAll(/[^\n\t"\\]/g, '').length;

const section = (type: string, options: Record<string, string | readonly string[]>): string =>
  `\nconfig ${type}\n${Object.entries(options)
    .flatMap(([name, value]) =>
      typeof value === 'string'
        ? [`\toption ${name} ${value}\n`]
        : value.map((item) => `\tlist ${name} ${item}\n`),
    )
    .join('')}`;

const ICMP_ERRORS = [
  'destination-unreachable',
  'packet-too-big',
  'time-exceeded',
  'bad-header',
  'unknown-header-type',
];

/** What stands after the recorded beginning, which ends inside a list of ICMP types. */
const REST_OF_STOCK = [
  ...[
    ...ICMP_ERRORS,
    'router-solicitation',
    'neighbour-solicitation',
    'router-advertisement',
    'neighbour-advertisement',
  ].map((type) => `\tlist icmp_type ${type}\n`),
  '\toption limit 1000/sec\n\toption family ipv6\n\toption target ACCEPT\n',
  section('rule', {
    name: 'Allow-ICMPv6-Forward',
    src: 'wan',
    dest: '*',
    proto: 'icmp',
    icmp_type: ['echo-request', 'echo-reply', ...ICMP_ERRORS],
    limit: '1000/sec',
    family: 'ipv6',
    target: 'ACCEPT',
  }),
  section('rule', {
    name: 'Allow-IPSec-ESP',
    src: 'wan',
    dest: 'lan',
    proto: 'esp',
    target: 'ACCEPT',
  }),
  section('rule', {
    name: 'Allow-ISAKMP',
    src: 'wan',
    dest: 'lan',
    dest_port: '500',
    proto: 'udp',
    target: 'ACCEPT',
  }),
].join('');
