/** One plausible bug as test/mutants/*.patch has it: what users would lose, which proofs must turn red, and the patch. Pure. */

/** A project of test/vitest.config.ts with filters of its test files, or a script of package.json with its arguments. */
export type Proof = { project: string; filters: readonly string[] } | { script: readonly string[] };

export type Mutant = {
  name: string;
  promise: string;
  /** Each of them must turn red alone. */
  proofs: readonly Proof[];
  /** Of product code: where the bug is. */
  folder: string;
  patch: string;
};

const HEADER = /^(promise|caught by): *(\S.*?) *$/;

/** @throws Error that names the file and what is wrong with it */
export const parseMutant = (name: string, text: string): Mutant => {
  const wrong = (why: string): Error => new Error(`${name}.patch: ${why}`);
  const start = text.search(/^diff --git /m);
  if (start === -1) throw wrong('there is no line that begins with "diff --git"');
  const promises: string[] = [];
  const proofs: Proof[] = [];
  for (const line of text.slice(0, start).split('\n')) {
    if (line.trim() === '') continue;
    const [, key, value = ''] = HEADER.exec(line) ?? [];
    if (key === undefined) throw wrong(`"${line}" is neither "promise: …" nor "caught by: …"`);
    if (key === 'promise') promises.push(value);
    else proofs.push(parseProof(value, wrong));
  }
  const [promise, ...more] = promises;
  if (promise === undefined || more.length > 0) throw wrong('one line "promise: …" is needed');
  if (proofs.length === 0) throw wrong('a line "caught by: …" is needed');
  const patch = text.slice(start);
  return { name, promise, proofs, patch, folder: folderOf(patch) };
};

const parseProof = (words: string, wrong: (why: string) => Error): Proof => {
  const [first = '', ...rest] = words.split(/\s+/);
  if (rest.length === 0) throw wrong(`"caught by: ${words}" names no test file and no script`);
  return first === 'script' ? { script: rest } : { project: first, filters: rest };
};

/** Of the first file that the patch changes. */
const folderOf = (patch: string): string => {
  const [, file = ''] = /^diff --git a\/(\S+) /.exec(patch) ?? [];
  return file.split('/').slice(0, -1).join('/') || '.';
};

export const wordsOf = (proof: Proof): string =>
  'script' in proof
    ? `script ${proof.script.join(' ')}`
    : `${proof.project} ${proof.filters.join(' ')}`;

/** `unit` among others, or `script`. */
export const projectOf = (proof: Proof): string => ('script' in proof ? 'script' : proof.project);

export type Selection = { names?: readonly string[]; project?: string | undefined };

/** Those whose names contain one of `names`, with the proofs of `project` only; without either, all. */
export const selected = (
  mutants: readonly Mutant[],
  { names = [], project }: Selection,
): Mutant[] =>
  mutants
    .filter(({ name }) => names.length === 0 || names.some((part) => name.includes(part)))
    .map((mutant) => ({
      ...mutant,
      proofs: mutant.proofs.filter(
        (proof) => project === undefined || projectOf(proof) === project,
      ),
    }))
    .filter(({ proofs }) => proofs.length > 0);

/** Cheapest first, so that a survivor is known soon. */
const BY_COST = ['unit', 'contract', 'script', 'integration', 'e2e'];

const costOf = ({ proofs }: Mutant): number =>
  Math.max(...proofs.map((proof) => BY_COST.indexOf(projectOf(proof))));

export const byCost = (one: Mutant, other: Mutant): number => costOf(one) - costOf(other);

/** Needs nothing but Node. */
export const isQuick = (mutant: Mutant): boolean => costOf(mutant) <= BY_COST.indexOf('contract');
