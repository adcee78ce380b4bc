import { expect, it } from 'vitest';
import { ICN_FINALIZERS } from './names.ts';

it('knows the twelve finalizers of the ICN controller', () => {
  expect(ICN_FINALIZERS).toHaveLength(12);
  expect(ICN_FINALIZERS).toContain('ipsec.host.finalizers.sdewan.akraino.org');
});
