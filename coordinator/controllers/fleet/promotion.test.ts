import { expect, it } from 'vitest';
import {
  cnfDeploymentResource,
  type CnfDeploymentStatus,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import { isPromoted, promotionOf } from './promotion.ts';

const labels = { sdewanPurpose: 'cnf-1' };
const STAGED: CnfDeploymentStatus = {
  stagedRevision: 'b',
  staged: { since: '2026-01-01T00:04:00.000Z' },
};
const isIt = (promote: string | undefined, status: CnfDeploymentStatus): boolean =>
  isPromoted(
    cnfDeploymentResource.schema.parse({
      apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
      kind: 'CNFDeployment',
      metadata: {
        name: 'cnf-1',
        uid: 'u',
        creationTimestamp: '',
        ...(promote !== undefined && {
          annotations: { 'fleet.sdewan.akraino.org/promote': promote },
        }),
      },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: {} } },
      status,
    }),
  );

it.each<[string, string | undefined, CnfDeploymentStatus, boolean]>([
  ['the set that is staged', promotionOf(STAGED), STAGED, true],
  ['nobody has asked', undefined, STAGED, false],
  ['another set', promotionOf(STAGED), { ...STAGED, stagedRevision: 'c' }, false],
  [
    'the same set, staged again later',
    promotionOf(STAGED),
    { ...STAGED, staged: { since: '2026-01-01T00:09:00.000Z' } },
    false,
  ],
  ['nothing is staged', promotionOf(STAGED), { currentRevision: 'b' }, false],
  ['an empty annotation, and nothing is staged', '', {}, false],
])('tells whether a set is promoted: %s', (_, promote, status, is) => {
  expect(isIt(promote, status)).toBe(is);
});
