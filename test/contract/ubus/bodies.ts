/**
 * Request bodies that the record cut, made whole: their beginning is recorded, and their length.
 */
import { spaced } from '../recordings/read.ts';
import { ruleDelta, ruleOptions } from './rules.ts';

/** Bytes of a delta in one file.write of the recording. */
const DELTA_PART_BYTES = 48_000;
/** How many of them the delta of 1,500 rules took. */
export const DELTA_PARTS = 9;

/** Ends the file.write of a part, counted from 0, of the delta that adds 1,500 rules. */
export const deltaPart = (part: number): ((beginning: string) => string) => {
  const delta = Array.from({ length: 1500 }, (_, index) => ruleDelta(index)).join('');
  const data = delta.slice(part * DELTA_PART_BYTES, (part + 1) * DELTA_PART_BYTES);
  return fileWrite(data, `, "append": ${part > 0}}]}`);
};

/** Ends a file.write whose beginning the record has. */
export const fileWrite =
  (data: string, end = '}]}') =>
  (beginning: string): string =>
    `${beginning.slice(0, beginning.indexOf('"data": "') + 8)}${escaped(data)}${end}`;

/** JSON in ASCII alone, as the recording client wrote it. */
const escaped = (text: string): string =>
  JSON.stringify(text).replaceAll(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

export const filled = (beginning: string, bytes: number): string =>
  `${beginning}${'x'.repeat(bytes - beginning.length - 4)}"}]}`;

/** The recorded call of `uci add` for another rule. */
export const addCall = (recorded: string, index: number): string =>
  recorded
    .replace(/"name": "sdewan_\d+"/, `"name": "sdewan_${index}"`)
    .replace(/"values": \{[^}]*\}/, `"values": ${spaced(ruleOptions(index))}`);

/** Completes a batch of 25 calls whose first one begins the text. */
export const addBatch = (beginning: string, first: number): string => {
  const session = /"params": \["(\w+)"/.exec(beginning)?.[1] ?? '';
  const id = Number(/"id": (\d+)/.exec(beginning)?.[1]);
  const calls = Array.from({ length: 25 }, (_, place) => {
    const values = spaced(ruleOptions(first + place));
    return `{"jsonrpc": "2.0", "id": ${id + place}, "method": "call", "params": ["${session}", "uci", "add", {"config": "firewall", "type": "rule", "name": "sdewan_${first + place}", "values": ${values}}]}`;
  });
  return `[${calls.join(', ')}]`;
};
