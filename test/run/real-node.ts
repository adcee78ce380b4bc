/** Whether this machine can have a real node and the images that run on it. */
import { whyNoNode } from 'kind-test-harness';
import { whyNoImages } from '../images/build.ts';
import type { Project, Stage } from './stages.ts';

/** What only a real node can show. */
export const NODE_ALONE = {
  harness: { name: 'node' },
  endToEnd: { name: 'e2e-node*', files: ['test/e2e-node/'] },
} satisfies Record<string, Project>;

/** Undefined: it can. In CI, as root, packages that are missing are installed. */
export const whyNoRealNode = async (): Promise<string | undefined> =>
  (await whyNoNode()) ?? (await whyNoImages());

/** These projects, one after the other; where they cannot run that is a failure: what they prove is not proven. */
export const onRealNode = async (
  what: string,
  projects: readonly Project[],
  whyNot: () => Promise<string | undefined> = whyNoRealNode,
): Promise<Stage[]> => {
  const because = await whyNot();
  if (because !== undefined) return [{ cannotRun: what, because }];
  return projects.map((each) => ({ projects: [each] }));
};
