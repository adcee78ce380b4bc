/** Reads UCI as it is written by hand in these tests, and writes it for a person to compare. */
import type { UciSection } from '#shared/uci/model.ts';

export const parseUci = (text: string): UciSection[] => {
  const sections: { name: string; type: string; options: Record<string, string | string[]> }[] = [];
  for (const line of text.split('\n')) {
    const [, word = '', key = '', value = ''] = /^\s*(\w+) (\S+)(?: '(.*)')?$/.exec(line) ?? [];
    const options = sections.at(-1)?.options ?? {};
    if (word === 'config') sections.push({ type: key, name: value, options: {} });
    else if (word === 'option') options[key] = value;
    else if (word === 'list') options[key] = [options[key] ?? [], value].flat();
  }
  return sections.map((section) => ({ ...section, anonymous: false }));
};

export const textOf = (sections: readonly UciSection[]): string =>
  sections
    .map(({ type, name, options }) => {
      const lines = Object.entries(options)
        .flatMap(([key, value]) =>
          typeof value === 'string'
            ? [`\toption ${key} '${value}'`]
            : value.map((item) => `\tlist ${key} '${item}'`),
        )
        .sort();
      return [`config ${type} '${name}'`, ...lines].join('\n');
    })
    .join('\n');
