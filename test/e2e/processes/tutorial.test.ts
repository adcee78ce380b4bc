/**
 * docs/tutorial.md, followed: its commands are run in their order, and what they print is what the
 * page shows. `UPDATE=1` writes what they printed into the page. On processes only, since it looks
 * into a pod's files from outside.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import {
  blocksIn,
  steady,
  stepsIn,
  withOutput,
  withoutLateWarnings,
  type Step,
} from '../users/docs/blocks.ts';
import { createShell } from '../users/docs/shell.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const PAGE = path.join(ROOT, 'docs/tutorial.md');
const NAMESPACE = 'edge';

const page = readFileSync(PAGE, 'utf8');
const all = blocksIn('docs/tutorial.md', page);
const blocks = all.filter(({ isShown }) => isShown);

describe('the tutorial, command by command', async () => {
  const cluster = await connectCluster();
  const shell = createShell({
    cwd: ROOT,
    env: { KUBECONFIG: cluster.kubeconfig },
    programs: { kubectl: cluster.kubectlCommand },
  });
  // The API server deletes a zone in use where a busy coordinator denies it too late.
  await cluster.kubectl([
    'patch',
    'validatingwebhookconfiguration',
    'sdewan-coordinator',
    '--type=json',
    '-p',
    '[{"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 30}]',
  ]);
  /** By the number of the block. */
  const printed: (string | undefined)[] = [];

  afterAll(async () => {
    await cluster.kubectl(['delete', 'namespace', NAMESPACE, '--ignore-not-found', '--wait=false']);
    if (process.env['UPDATE'] !== '1') return;
    writeFileSync(PAGE, withOutput(page, printed));
  });

  it('block 2: the kubectl of the second terminal', async () => {
    const lines = all[1]?.text.replace('…', cluster.kubeconfig);
    // As a terminal has aliases; the shell's own kubectl would hide this one.
    const { text } = await shell.run(
      `shopt -s expand_aliases\nunset -f kubectl\nunset KUBECONFIG\n${lines}\nkubectl config view --minify -o name && kubectl get namespace default -o name`,
    );
    expect(text).toContain('namespace/default\n');
  });

  it.each(blocks)('block $at', async (block) => {
    const steps = stepsIn(block);
    expect(steps.length).toBeGreaterThan(0);
    const outputs: Step[] = [];
    for (const { command } of steps)
      outputs.push({ command, shown: (await shell.run(command)).text });
    printed[block.at - 1] = outputs.map(({ command, shown }) => `$ ${command}${shown}`).join('');
    if (process.env['UPDATE'] === '1') return;
    expect(outputs.map(({ shown }) => steady(shown))).toEqual(
      steps.map(({ shown }, at) => steady(withoutLateWarnings(shown, outputs[at]?.shown ?? ''))),
    );
  });
});
