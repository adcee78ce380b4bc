/**
 * Node's options in the agent's image: without them it takes other memory and CPU than users have.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod';

const DOCKERFILE = path.resolve(import.meta.dirname, '../../Dockerfile.agent');

/** As `ENTRYPOINT` of Dockerfile.agent has them. @throws Error when there is none */
export const agentFlags = (): string[] => {
  const [, words] = /^ENTRYPOINT (\[.*\])$/m.exec(readFileSync(DOCKERFILE, 'utf8')) ?? [];
  if (words === undefined) throw new Error(`${DOCKERFILE} has no ENTRYPOINT of words`);
  return z
    .array(z.string())
    .parse(JSON.parse(words))
    .filter((word) => word.startsWith('--'));
};
