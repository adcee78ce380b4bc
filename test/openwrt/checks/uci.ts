/**
 * A reader of UCI files for tests, the demo and other judges of the product: written apart from it,
 * and simpler. It knows what libuci writes (one statement a line; values in single quotes or bare)
 * and throws on everything else.
 */

export type DeviceSection = {
  /** undefined for an anonymous section. */
  name: string | undefined;
  type: string;
  options: Record<string, string | string[]>;
};

type Draft = Omit<DeviceSection, 'options'> & { options: Map<string, string | string[]> };

/**
 * The sections of a file of /etc/config, in file order. @throws Error on what libuci does not write
 */
export const readUci = (text: string): DeviceSection[] => {
  const sections: Draft[] = [];
  for (const words of statements(text)) {
    const [command, key, value] = words;
    const section = sections.at(-1);
    if (command === 'config' && key !== undefined && words.length <= 3) {
      sections.push({ name: value, type: key, options: new Map() });
    } else if (section && key !== undefined && value !== undefined && words.length === 3) {
      addOption(section, command, key, value);
    } else if (command !== 'package') {
      throw new Error(`not UCI: ${words.slice(0, 2).join(' ')}`);
    }
  }
  return sections.map((section) => ({ ...section, options: Object.fromEntries(section.options) }));
};

const addOption = (
  { options }: Draft,
  command: string | undefined,
  key: string,
  value: string,
): void => {
  const known = options.get(key);
  if (command === 'option') options.set(key, value);
  else if (command === 'list') options.set(key, Array.isArray(known) ? [...known, value] : [value]);
  else throw new Error(`not UCI: ${command} ${key}`);
};

const TOKEN = /[ \t]+|(?<end>\n)|#[^\n]*|(?<word>(?:[\w.:/!*-]+|'[^']*'|\\')+)/y;

/** Lines as words; a quoted value may span lines, `'it'\''s'` is one word. */
const statements = (text: string): string[][] => {
  const found: string[][] = [[]];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const token = TOKEN.exec(text);
    if (!token) throw new Error(`not UCI at ${at}: ${JSON.stringify(text.slice(at, at + 40))}`);
    const { end, word } = token.groups ?? {};
    if (end !== undefined) found.push([]);
    if (word !== undefined) found.at(-1)?.push(unquoted(word));
  }
  return found.filter((words) => words.length > 0);
};

const unquoted = (word: string): string =>
  word.replaceAll(/\\'|'([^']*)'/g, (part, inside: string | undefined) =>
    part === String.raw`\'` ? "'" : (inside ?? ''),
  );
