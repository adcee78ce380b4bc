/** Chooses where the control plane's programs come from, and says why. */
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';

import { buildGoProgram, findCachedBuild } from '../go-build.ts';
import { controlPlaneProgram, type BuildVariant } from './build.ts';

export const PROGRAM_NAMES = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubectl',
] as const;
export type ProgramName = (typeof PROGRAM_NAMES)[number] | 'kubelet' | 'kube-proxy';

export type Programs = {
  /** Which programs were taken and why, for people. */
  reason: string;
  /** The command line that starts a program, without its arguments. */
  command: (program: ProgramName) => readonly string[];
};

export type ChooseOptions = {
  /** `node` adds kubelet and kube-proxy. */
  variant?: BuildVariant;
  env?: NodeJS.ProcessEnv;
  say: (line: string) => void;
  signal?: AbortSignal | undefined;
};

/**
 * Cached build, else `KUBEBUILDER_ASSETS` when it is complete, else a build. @throws when it must
 * build and can't.
 */
export const choosePrograms = async (options: ChooseOptions): Promise<Programs> => {
  const { variant = 'control-plane', env = process.env, say } = options;
  const program = controlPlaneProgram(variant);

  const cached = await findCachedBuild(program);
  if (cached) return oneBinary(cached, `cached build ${cached}`);

  const assets = env['KUBEBUILDER_ASSETS'];
  if (assets && variant === 'control-plane') {
    const missing = await missingPrograms(assets);
    if (missing.length === 0) return separateBinaries(assets);
    say(`KUBEBUILDER_ASSETS=${assets} lacks ${missing.join(', ')}: not used`);
  }

  const built = await buildGoProgram(program, { env, say, signal: options.signal });
  return oneBinary(built, `fresh build ${built}`);
};

const oneBinary = (binary: string, reason: string): Programs => ({
  reason,
  command: (program) => [binary, program],
});

const separateBinaries = (directory: string): Programs => ({
  reason: `KUBEBUILDER_ASSETS=${directory} (no cached build, and it has all programs)`,
  command: (program) => [join(directory, program)],
});

const missingPrograms = async (directory: string): Promise<string[]> => {
  const missing = await Promise.all(
    PROGRAM_NAMES.map(async (name) => {
      try {
        await access(join(directory, name), constants.X_OK);
        return [];
      } catch {
        return [name];
      }
    }),
  );
  return missing.flat();
};
