/**
 * `dd` on the device's files, as far as it is used to read: if, bs, count, skip. Words its messages
 * as GNU dd does.
 */
import { statSync } from 'node:fs';
import { readBytes } from '../bytes.ts';
import type { DeviceRoot } from '../root.ts';
import { complained, type Program, type ProgramResult } from './runner.ts';

export const createDd =
  (root: DeviceRoot): Program =>
  ({ name, params }) => {
    const operands = new Map(params.map((param) => splitAt(param, param.indexOf('='))));
    const input = operands.get('if') ?? '';
    const file = statSync(root.path(input), { throwIfNoEntry: false });
    if (!file?.isFile())
      return complained(1, `${name}: failed to open '${input}': No such file or directory\n`);
    const size = Number(operands.get('bs') ?? 512);
    const start = Number(operands.get('skip') ?? 0) * size;
    const count = Number(operands.get('count') ?? Infinity);
    const bytes = readBytes(root.path(input));
    const output = bytes.slice(start, start + size * count);
    return report({ output, size, past: start > bytes.length, label: `${name}: ${input}` });
  };

const report = (copy: {
  output: string;
  size: number;
  past: boolean;
  label: string;
}): ProgramResult => {
  const { output, size } = copy;
  const records = `${Math.floor(output.length / size)}+${output.length % size === 0 ? 0 : 1} records`;
  const skipped = copy.past ? `${copy.label}: cannot skip to specified offset\n` : '';
  return {
    code: 0,
    stdout: output,
    stderr: `${skipped}${records} in\n${records} out\n${humanBytes(output.length)} copied, 0.000215373 s, 609 MB/s\n`,
  };
};

/** GNU dd's `131072 bytes (131 kB, 128 KiB)`. */
const humanBytes = (bytes: number): string => {
  const units = [
    [1000, 'kB', 'MB'],
    [1024, 'KiB', 'MiB'],
  ] as const;
  const shown = units
    .filter(([base]) => bytes >= base)
    .map(([base, kilo, mega]) =>
      bytes >= base * base
        ? `${short(bytes / base / base)} ${mega}`
        : `${short(bytes / base)} ${kilo}`,
    );
  return `${bytes} bytes${shown.length === 0 ? '' : ` (${shown.join(', ')})`}`;
};

/** One digit after the point below ten; GNU rounds halves down here. */
const short = (value: number): string =>
  value < 10 ? (Math.ceil(value * 10 - 0.5) / 10).toFixed(1) : String(Math.round(value));

const splitAt = (text: string, index: number): [string, string] =>
  index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)];
