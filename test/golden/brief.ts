/**
 * UCI as samples keep it: a line for each section, its options as YAML. What a reader sees in it is
 * the same; how it is written is kept by the combinations, and proven by `uci-text.test.ts`.
 */
import { Document, parse } from 'yaml';
import { z } from 'zod';
import { readUci, type DeviceSection } from '../openwrt/checks/uci.ts';

const PACKAGE = /^package ([\w-]+)$/m;
const LINE = /^([\w-]+)(?: ([\w.]+))? (\{.*\})$/;
const optionsSchema = z.record(z.string(), z.union([z.string(), z.array(z.string())]));

const inOneLine = ({ type, name, options }: DeviceSection): string => {
  const style = { collectionStyle: 'flow', lineWidth: 0, singleQuote: true } as const;
  const text = new Document(options).toString(style);
  return [type, ...(name === undefined ? [] : [name]), text.trimEnd()].join(' ');
};

/** A text of packages as `uci export` has them, with the comments before the first one. */
export const briefly = (text: string): string => {
  const [comments = '', ...parts] = text.split(PACKAGE);
  let brief = comments.trim();
  for (let at = 0; at < parts.length; at += 2)
    brief += `\n\npackage ${parts[at] ?? ''}\n${readUci(parts[at + 1] ?? '').map(inOneLine).join('\n')}`;
  return brief === '' ? '' : `${brief.trimStart()}\n`;
};

const sectionIn = (line: string): DeviceSection => {
  const [, type, name, options] = LINE.exec(line) ?? [];
  if (type === undefined || options === undefined) throw new Error(`no section: ${line}`);
  return { type, name, options: optionsSchema.parse(parse(options)) };
};

/** Package -> its sections, as the judge reads them. */
export const packagesIn = (text: string, isBrief: boolean): Map<string, DeviceSection[]> => {
  const [, ...parts] = text.split(PACKAGE);
  const packages = new Map<string, DeviceSection[]>();
  for (let at = 0; at < parts.length; at += 2) {
    const sections = (parts[at + 1] ?? '').trim();
    const read = isBrief ? sections.split('\n').map(sectionIn) : readUci(`${sections}\n`);
    packages.set(parts[at] ?? '', read);
  }
  return packages;
};
