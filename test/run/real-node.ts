/**
 * Whether this machine can have a real node, the images that run on it, and namespaces whose
 * packets its kernel judges.
 */
import { execFile } from 'node:child_process';
import { installCommand, installPackages, mayInstall, whyNoNode } from 'kind-test-harness';
import { whyNoImages } from '../deploy/images/build.ts';
import type { Project, Stage } from './stages.ts';

/** Undefined: it can. In CI, as root, packages that are missing are installed. */
export const whyNoRealNode = async (): Promise<string | undefined> =>
  (await whyNoNode()) ?? (await whyNoImages()) ?? (await whyNoPackets());

/** Program -> the package that brings it. */
const PACKET_PROGRAMS = { nft: 'nftables', keepalived: 'keepalived' };

const whyNoPackets = async (): Promise<string | undefined> => {
  const needed = Object.entries(PACKET_PROGRAMS);
  const found = await Promise.all(needed.map(([program]) => isThere(program)));
  const missing = needed.flatMap(([, name], at) => (found[at] === true ? [] : [name]));
  if (missing.length === 0) return undefined;
  if (!mayInstall(process.env)) return `it needs packages: ${installCommand(missing)}`;
  return await installPackages(missing, { env: process.env, say: console.warn }).then(
    () => undefined,
    (error: unknown) => `its packages cannot be had: ${String(error)}`,
  );
};

const isThere = (program: string): Promise<boolean> =>
  new Promise((resolve) => {
    execFile(program, ['--version'], (error) => resolve(error === null));
  });

/**
 * These projects, one after the other; where they cannot run that is a failure: what they prove is
 * not proven.
 */
export const onRealNode = async (
  what: string,
  projects: readonly Project[],
  whyNot: () => Promise<string | undefined> = whyNoRealNode,
): Promise<Stage[]> => {
  const because = await whyNot();
  if (because !== undefined) return [{ cannotRun: what, because }];
  return projects.map((each) => ({ projects: [each] }));
};
