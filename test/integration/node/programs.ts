/**
 * A vitest `globalSetup`: what a node is made of is built before any test, since compilers take as
 * long as a machine has them take.
 */
import { prepareNodePrograms, whyNoNode } from 'kind-test-harness';
import { prepareTestImage } from './image.ts';

export const setup = async (): Promise<void> => {
  if ((await whyNoNode()) !== undefined) return;
  await prepareNodePrograms({ env: process.env, say: console.log });
  await prepareTestImage();
};
