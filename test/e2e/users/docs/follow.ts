/** One command of a page: what it comes to, and what it should. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { ROOT } from '../../../run/product-files.ts';
import { steady, type Step } from './blocks.ts';
import type { Printed } from './shell.ts';
import type { Stage } from './stage.ts';

/** `printed`: as it is. */
export type Outcome = { found: unknown; wanted: unknown; printed: string };

/** In the midst of others; CI builds images by itself. */
const IN_CI = /^npm run images/;
const GOES_ON = /^sdewan dashboard/;
/** What a page shows comes true by and by, and a person looks again. */
const LOOKS = /^(kubectl get|sdewan (status|rules|explain|check|rollout status)) /;
const LOOK_AGAIN_MS = 20_000;
const PAUSE_MS = 1_000;
/** By their answers, which are not failures: no, and that it cannot be told. */
const MAY_SAY_NO = /^(npx )?sdewan (status|explain|diff|check|wait|version|trace)\b|\| grep /;
/** Without `--yes`. */
const ASKS = /^npx sdewan uninstall(?!.* --yes)/;

/** @param output whether the page shows what the command prints. */
export const followStep = async (
  stage: Stage,
  { command, shown }: Step,
  { output, namespace }: { output: boolean; namespace: string | undefined },
): Promise<Outcome> => {
  if (IN_CI.test(command)) return { found: missingIn(command), wanted: [], printed: '' };
  if (GOES_ON.test(command)) {
    const end = await stage.begin(command);
    await end();
    return { found: command, wanted: command, printed: '' };
  }
  const run = (): Promise<Printed> => stage.run(command, namespace);
  if (!output) {
    const { code, text } = await run();
    const found = isDone(command, code) ? 'done' : text;
    return { found: [command, found], wanted: [command, 'done'], printed: text };
  }
  const text = await look(run, LOOKS.test(command) ? LOOK_AGAIN_MS : 0, steady(shown));
  return { found: [command, steady(text)], wanted: [command, steady(shown)], printed: text };
};

const look = async (
  run: () => Promise<Printed>,
  forMs: number,
  wanted: string,
): Promise<string> => {
  const lastAt = Date.now() + forMs;
  let { text } = await run();
  while (steady(text) !== wanted && Date.now() < lastAt) {
    await sleep(PAUSE_MS);
    ({ text } = await run());
  }
  return text;
};

const isDone = (command: string, code: number | null): boolean =>
  code === 0 ||
  (MAY_SAY_NO.test(command) && (code === 1 || code === 3)) ||
  (ASKS.test(command) && code === 2);

const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')));

/** What a command that is not run names that is not there. */
export const missingIn = (command: string): string[] => {
  const [, script] = /^npm run ([\w:-]+)/.exec(command) ?? [];
  const files = [...command.matchAll(/(?<=^| )(?:test|shared|agent|coordinator)\/[\w./-]+/g)];
  return [
    ...(script !== undefined && !Object.hasOwn(scripts, script) ? [script] : []),
    ...files.map(([file]) => file).filter((file) => !existsSync(path.join(ROOT, file))),
  ];
};
