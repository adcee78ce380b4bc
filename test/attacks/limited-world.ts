/** A coordinator with the memory that its Deployment gives it: what Node is told of it, and the limit, which the kernel enforces where root is there. */
import { createWorld, type World } from '../integration/admission/world.ts';
import { createControlGroup, nodeOptions } from './control-group.ts';

/** Closing it throws when the kernel has killed anything at the limit. */
export const createLimitedWorld = async (env: Record<string, string> = {}): Promise<World> => {
  const group = await createControlGroup();
  const world = await createWorld({ NODE_OPTIONS: await nodeOptions(), ...env }, group);
  return {
    ...world,
    close: async () => {
      await world.close();
      await group?.end();
    },
  };
};
