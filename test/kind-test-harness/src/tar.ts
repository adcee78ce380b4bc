/** Writes tar archives (ustar) in memory. */

const BLOCK = 512;

export type TarFile = {
  name: string;
  type: 'file' | 'link' | 'directory';
  mode: number;
  body?: Buffer;
  linkTo?: string;
};

/** @throws when a name does not fit a ustar header (255 bytes). */
export const tar = (files: readonly TarFile[]): Buffer => {
  const blocks = files.flatMap((file) => {
    const size = file.body?.length ?? 0;
    return [header(file, size), file.body ?? Buffer.alloc(0), Buffer.alloc(-size & (BLOCK - 1))];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
};

const TYPE_FLAGS = { file: '0', link: '2', directory: '5' };

const header = (file: TarFile, size: number): Buffer => {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, offset: number, width: number): void => {
    block.write(`${value.toString(8).padStart(width - 1, '0')}\0`, offset, 'latin1');
  };
  const [prefix, name] = splitName(file.name);
  block.write(name, 0);
  octal(file.mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  block.write(' '.repeat(8), 148); // the checksum counts its own field as blanks
  block.write(TYPE_FLAGS[file.type], 156);
  block.write(file.linkTo ?? '', 157);
  block.write('ustar\u000000', 257, 'latin1');
  block.write(prefix, 345);
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return block;
};

/** ustar keeps 100 bytes of name, and 155 of folders before it. */
const splitName = (path: string): [prefix: string, name: string] => {
  if (Buffer.byteLength(path) <= 100) return ['', path];
  for (let cut = path.indexOf('/'); cut >= 0; cut = path.indexOf('/', cut + 1)) {
    const [prefix, name] = [path.slice(0, cut), path.slice(cut + 1)];
    if (Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(name) <= 100) return [prefix, name];
  }
  throw new Error(`${path} is too long for an image archive`);
};
