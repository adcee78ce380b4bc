/**
 * docs/tutorial.md, followed: its commands are run in their order, and what they print is what the page shows. `UPDATE=1` writes what they
 * printed into the page. On processes only, since it looks into a pod's files from outside.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const PAGE = path.join(ROOT, 'docs/tutorial.md');
const NAMESPACE = 'edge';

type Step = { command: string; shown: string };

/** A command begins with `$ ` and goes on to the end of its here-document. */
const stepsIn = (block: string): Step[] =>
  block
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const end = text.includes('<<END') ? text.indexOf('\nEND\n') + 5 : text.indexOf('\n') + 1;
      return { command: text.slice(0, end), shown: text.slice(end) };
    });

/** What is another in each run: ages, and the ends of pods' names. */
const steady = (text: string): string =>
  text
    .replaceAll(/\bcnf-1-[a-z0-9]+-[a-z0-9]{5}\b/g, 'cnf-1-<pod>')
    .replaceAll(/(?<=^| )(\d+[smh])+(?= |$)/gm, '<age>')
    .replaceAll(/ +/g, ' ')
    .replaceAll(/ +$/gm, '');

const page = readFileSync(PAGE, 'utf8');
const blocks = [...page.matchAll(/^```console\n(.*?)^```$/gms)].map(([, block = '']) => block);

describe('the tutorial, command by command', async () => {
  const cluster = await connectCluster();
  const [program = '', ...leading] = cluster.kubectlCommand;
  const kubectl = [program, ...leading].map((word) => `'${word}'`).join(' ');
  const printed: string[] = [];

  const run = (command: string): Promise<string> =>
    new Promise((resolve) => {
      const script = `kubectl() { ${kubectl} "$@"; }\n{ ${command}\n} 2>&1`;
      const env = { ...process.env, KUBECONFIG: cluster.kubeconfig };
      execFile('bash', ['-c', script], { cwd: ROOT, env }, (_error, stdout) => resolve(stdout));
    });

  afterAll(async () => {
    await cluster.kubectl(['delete', 'namespace', NAMESPACE, '--ignore-not-found', '--wait=false']);
    if (process.env['UPDATE'] !== '1') return;
    const next = page.replaceAll(
      /^```console\n.*?^```$/gms,
      () => `\`\`\`console\n${printed.shift() ?? ''}\`\`\``,
    );
    writeFileSync(PAGE, next);
  });

  it.each(blocks.map((block, at) => ({ at: at + 1, block })))('block $at', async ({ block }) => {
    const steps = stepsIn(block);
    expect(steps.length).toBeGreaterThan(0);
    const outputs: Step[] = [];
    for (const { command } of steps) outputs.push({ command, shown: await run(command) });
    printed.push(outputs.map(({ command, shown }) => `$ ${command}${shown}`).join(''));
    if (process.env['UPDATE'] === '1') return;
    expect(outputs.map(({ shown }) => steady(shown))).toEqual(
      steps.map(({ shown }) => steady(shown)),
    );
  });
});
