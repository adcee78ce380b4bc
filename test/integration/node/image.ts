/** One image for the tests of the real node: Node and busybox, made of this machine's files. */
import { existsSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';

import { OUTPUT } from '../../deploy/images/catalog.ts';
import { planLocalBase, writeLocalBase } from '../../deploy/images/local-base.ts';

export type TestImage = { name: string; archive: string };

export const prepareTestImage = async (): Promise<TestImage> => {
  const base = await planLocalBase();
  const archive = join(OUTPUT, `${base.name.replace(/[/:]/g, '-')}.tar`);
  if (!existsSync(archive)) {
    await mkdir(OUTPUT, { recursive: true });
    const unfinished = `${archive}.${process.pid}`;
    await writeLocalBase(base, unfinished);
    await rename(unfinished, archive);
  }
  return { name: base.name, archive };
};
