/** `npm run images [-- agent coordinator openwrt] [--base IMAGE|local]` */
import { parseArgs } from 'node:util';

import { buildImages } from './build.ts';
import { IMAGE_NAMES } from './catalog.ts';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { base: { type: 'string' } },
});
const names = IMAGE_NAMES.filter((name) => positionals.length === 0 || positionals.includes(name));
const unknown = positionals.filter((name) => !IMAGE_NAMES.some((image) => image === name));

if (unknown.length > 0) {
  console.error(`no such image: ${unknown.join(', ')}; there are ${IMAGE_NAMES.join(', ')}`);
  process.exitCode = 2;
} else {
  try {
    await buildImages({ names, base: values.base, say: (line) => console.log(line) });
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
