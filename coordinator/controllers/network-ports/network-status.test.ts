import { describe, expect, it } from 'vitest';
import { managedNetworkResource } from '#shared/resources/other-kinds/managed-network.ts';
import { statusOf } from './network-status.ts';
import { known } from './testing.ts';

describe('the status of a network', () => {
  const facts = {
    ...known(),
    conflicts: [],
    unobeyed: [],
    now: 0,
  };

  it('stays in its bounds, whatever pods and attachments say', () => {
    const status = statusOf({
      ...facts,
      conflicts: Array.from({ length: 20 }, (_, at) => `pod ${at}: ${'x'.repeat(2_000)}`),
      unobeyed: ['x'.repeat(4_000)],
    });
    expect(managedNetworkResource.status.safeParse(status).error).toBeUndefined();
    expect(status.conflicts?.at(-1)).toBe('and 12 more');
  });

  it('names the attachments that take no addresses, and has no such condition without any', () => {
    const typesOf = (unobeyed: string[]) =>
      statusOf({ ...facts, unobeyed }).conditions?.map(({ type, message }) => [type, message]);
    expect(typesOf(['attachment edge/mv does not declare capability mac'])).toContainEqual([
      'NotObeyed',
      'attachment edge/mv does not declare capability mac',
    ]);
    expect(typesOf([])?.map(([type]) => type)).toEqual(['Ready', 'Adopted']);
  });
});
