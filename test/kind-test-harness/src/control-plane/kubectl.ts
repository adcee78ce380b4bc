/** kubectl for a cluster whose control plane is not ours. */
import { run } from '../run.ts';
import { choosePrograms, type ChooseOptions } from './programs.ts';

const TIMEOUT_MS = 30_000;

/**
 * Most who have a cluster have kubectl on PATH; for the others it is built with our control plane.
 */
export const findKubectl = async (options: ChooseOptions): Promise<readonly string[]> => {
  try {
    await run(['kubectl', 'version', '--client'], { timeoutMs: TIMEOUT_MS });
    return ['kubectl'];
  } catch {
    const programs = await choosePrograms(options);
    return programs.command('kubectl');
  }
};
