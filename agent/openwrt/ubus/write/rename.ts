/**
 * Gives sections other names, in their places, with nothing else in the transaction. UCI knows an
 * anonymous section by its position and type: with one added or removed above it since it was read,
 * another section would get the name. It answers with success for that, for a section that is not
 * there, and for a name that two sections then bear, so that one is lost (all measured). So the
 * package must not have changed right before the apply, no name may be taken, and each section is
 * read back under its new name; else all is undone.
 */
import { isDeepStrictEqual } from 'node:util';
import type { UciSection } from '#shared/uci/model.ts';
import { OpenwrtBlockedError, OpenwrtError, type UciRename } from '../../driver.ts';
import { readBack } from './transaction.ts';
import type { Base } from '../read/packages.ts';
import type { Renamer, Renaming, WritePath } from './write-path.ts';

/**
 * The packages as they are then.
 * @throws OpenwrtBlockedError when it is as before, OpenwrtError when that is not known
 */
export const runRename = async (
  path: Pick<WritePath, 'read'>,
  renamer: Renamer,
  renaming: Renaming,
): Promise<ReadonlyMap<string, Base>> => {
  const { renames, bases } = renaming;
  const names = new Map(
    [...bases].map(([name, { content }]) => [
      name,
      new Set(content.sections.map((one) => one.name)),
    ]),
  );
  const taken = renames.find((rename) => names.get(rename.package)?.has(rename.name));
  if (taken !== undefined) throw new OpenwrtError(`name ${taken.name}`, 'the name is taken');
  await renamer.write(renaming);
  const written = await readBack(path, renaming);
  const wrong = [...bases.keys()].filter(
    (name) => !isDeepStrictEqual(namedIn(written, name, renames), expectedIn(bases, name, renames)),
  );
  if (wrong.length === 0) {
    await renamer.keep(renaming);
    return written;
  }
  await renamer.undo(renaming);
  throw new OpenwrtBlockedError(
    `name sections of ${wrong.join(', ')}`,
    'OpenWRT shows other contents than before, so the new names were undone',
  );
};

type Packages = ReadonlyMap<string, Base>;
type Looked = Pick<UciSection, 'name' | 'type'> & {
  options: readonly (readonly [string, unknown])[];
};

/** With the order of options, which an object does not show when it is compared. */
const looked = ({ name, type, options }: UciSection): Looked => ({
  name,
  type,
  options: Object.entries(options),
});

const namedIn = (packages: Packages, name: string, renames: readonly UciRename[]): Looked[] => {
  const names = new Set(renames.filter((each) => each.package === name).map((each) => each.name));
  const sections = packages.get(name)?.content.sections ?? [];
  return sections.filter((section) => names.has(section.name)).map(looked);
};

const expectedIn = (packages: Packages, name: string, renames: readonly UciRename[]): Looked[] => {
  const names = new Map(
    renames.filter((each) => each.package === name).map((each) => [each.section.name, each.name]),
  );
  const sections = packages.get(name)?.content.sections ?? [];
  return sections.flatMap((section) => {
    const renamed = names.get(section.name);
    return renamed === undefined ? [] : [looked({ ...section, name: renamed })];
  });
};
