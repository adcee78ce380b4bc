/** `npm test`: what needs no root. What takes minutes is in suites: `npm run suite`. */
import { setup as bundlePrograms } from '../stack/programs.ts';
import { runStages, type Stage } from './stages.ts';

/** Projects of vitest: those that compute, and those that wait. */
const COMPUTING = ['unit', 'contract'];
const WAITING = ['e2e', 'integration'];
export const PROJECTS = [...COMPUTING, ...WAITING];

/** Those of `npm run check`; lint sees types as well. */
export const STATIC_CHECKS: readonly Stage[] = [
  { script: 'format -- --check' },
  { script: 'generate -- --check' },
  { script: 'lint' },
];

const main = async (): Promise<number> => {
  const removePrograms = await bundlePrograms();
  const code = await runStages([
    {
      beside: [
        [...STATIC_CHECKS, ...COMPUTING.map((name) => ({ projects: [{ name }] }))],
        [{ projects: WAITING.map((name) => ({ name })) }],
      ],
    },
  ]);
  await removePrograms();
  return code;
};

if (import.meta.main) process.exitCode = await main();
