import { describe, expect, it } from 'vitest';
import { baselineOf, runCampaign, type CampaignDeps } from './campaign.ts';
import { wordsOf, type Mutant, type Proof } from './mutant.ts';
import type { Outcome } from './report.ts';
import { lineOf, summaryOf, verdictOf } from './score.ts';

const unit: Proof = { project: 'unit', filters: ['agent/a'] };
const other: Proof = { project: 'unit', filters: ['agent/b'] };
const demo: Proof = { script: ['demo'] };
const green: Outcome = { state: 'green', files: ['/x/agent/a.test.ts', '/x/agent/b.test.ts'] };
const red: Outcome = { state: 'red', by: ['notices it'] };
const broken: Outcome = { state: 'broken', why: 'no such module' };

const mutant = (name: string, folder: string, ...proofs: Proof[]): Mutant => ({
  name,
  promise: '',
  proofs: proofs.length > 0 ? proofs : [unit],
  folder,
  patch: name,
});

/** Trees that know which patch is in them, and proofs that `judge` makes red or green by it. */
const world = (judge: (patch: string | undefined, proof: Proof) => Outcome, jobs = 2) => {
  const trees: { patch: string | undefined; isThere: boolean }[] = [];
  const asked: string[] = [];
  const deps: CampaignDeps = {
    copyTree: () => {
      const tree = { patch: undefined as string | undefined, isThere: true };
      const root = String(trees.push(tree) - 1);
      return {
        root,
        apply: (patch) => {
          expect(tree.patch).toBeUndefined();
          if (patch === 'old') return false;
          tree.patch = patch;
          return true;
        },
        revert: () => {
          expect(tree.patch).toBeDefined();
          tree.patch = undefined;
        },
        [Symbol.dispose]: () => (tree.isThere = false),
      };
    },
    prove: async (proof, root) => {
      const patch = trees[Number(root)]?.patch;
      asked.push(`${patch ?? 'none'}: ${wordsOf(proof)}`);
      await Promise.resolve();
      return judge(patch, proof);
    },
    jobs,
    onResult: () => undefined,
    say: () => undefined,
  };
  return { deps, trees, asked };
};

describe('a campaign', () => {
  const mutants = ['one', 'two', 'old', 'three'].map((name) => mutant(name, 'agent'));

  it('judges each mutant in a tree that has no other bug, and removes the trees', async () => {
    const { deps, trees, asked } = world((patch) => (patch === 'one' ? red : green));
    const results = await runCampaign(mutants, deps);
    const states = results.map(({ mutant: { name }, verdict }) => [name, verdict.state]);
    expect(Object.fromEntries(states)).toEqual({
      one: 'killed',
      two: 'survived',
      old: 'does not apply',
      three: 'survived',
    });
    expect(asked[0]).toBe('none: unit agent/a');
    expect(asked.toSorted()).toEqual(
      ['none', 'one', 'three', 'two'].map((name) => `${name}: unit agent/a`),
    );
    expect(trees).toEqual([1, 2].map(() => ({ patch: undefined, isThere: false })));
  });

  it('runs those that need more than Node one at a time, after the others', async () => {
    let running = 0;
    let most = 0;
    const { deps, asked } = world((patch) => (patch === undefined ? green : red), 3);
    const { prove } = deps;
    deps.prove = async (proof, root) => {
      running += 1;
      if ('script' in proof) most = Math.max(most, running);
      const outcome = await prove(proof, root);
      running -= 1;
      return outcome;
    };
    const slow = ['s', 't', 'u'].map((name) => mutant(name, 'agent', demo));
    await runCampaign([...slow, ...mutants], deps);
    expect(most).toBe(1);
    expect(asked.slice(-3)).toEqual(slow.map(({ name }) => `${name}: script demo`));
  });

  it.each<[string, Outcome, string]>([
    ['is red', red, 'red without a mutant: unit agent/a: notices it'],
    ['is broken', broken, 'broken without a mutant: unit agent/a: no such module'],
    [
      'looks at nothing',
      { state: 'green', files: ['/x/agent/b'] },
      'unit has no test file agent/a',
    ],
  ])('ends at once where a test %s without a mutant', async (_name, outcome, why) => {
    const { deps, trees, asked } = world(() => outcome);
    await expect(runCampaign(mutants, deps)).rejects.toThrow(why);
    expect(asked).toHaveLength(1);
    expect(trees.map(({ isThere }) => isThere)).toEqual([false]);
  });

  it('that is stopped leaves neither trees nor bugs', async () => {
    const { deps, trees } = world((patch) => {
      if (patch !== undefined) throw new Error('stopped');
      return green;
    });
    await expect(runCampaign(mutants, deps)).rejects.toThrow('stopped');
    expect(trees).toEqual([1, 2].map(() => ({ patch: undefined, isThere: false })));
  });

  it('runs each script and each project once before', () => {
    const some = [mutant('m', 'agent', unit, demo), mutant('n', 'agent', other, demo, unit)];
    expect(baselineOf(some)).toEqual([
      { project: 'unit', filters: ['agent/a', 'agent/b'] },
      { script: ['demo'] },
    ]);
  });
});

describe('a mutant', () => {
  const of = (...outcomes: Outcome[]) =>
    verdictOf(outcomes.map((outcome, at) => ({ proof: at === 0 ? unit : demo, outcome })));

  it('is killed only when each of its proofs is red', () => {
    expect(of(red, red)).toEqual({ state: 'killed', by: ['notices it', 'notices it'] });
    expect(of(red, green)).toEqual({ state: 'survived', proofs: [demo] });
    expect(of(green, broken)).toEqual({ state: 'broken', why: 'script demo: no such module' });
  });
});

it('the last lines have a score for each folder, and again what is not killed', () => {
  const result = (name: string, folder: string, ...outcomes: Outcome[]) => ({
    mutant: mutant(name, folder),
    verdict: verdictOf(outcomes.map((outcome) => ({ proof: unit, outcome }))),
    tookMs: 1_234,
  });
  const survivor = result('s', 'shared/uci', green);
  const lines = summaryOf([survivor, result('k', 'shared/uci', red), result('m', 'agent', red)]);
  expect(lines.map((line) => line.replaceAll(/ +/g, ' '))).toEqual([
    'agent 1 of 1 killed',
    'shared/uci 1 of 2 killed',
    'all 2 of 3 killed',
    'survived s is not noticed by unit agent/a (1.2 s)',
  ]);
  expect(lineOf(survivor)).toBe(lines[3]);
});
