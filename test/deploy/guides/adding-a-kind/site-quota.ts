/**
 * SiteQuota: an input for the whole cluster, in a group of its own: no status, finalizer or report.
 * For a test only.
 */
import * as z from 'zod';
import { specRule, given } from '#shared/resources/conditions.ts';
import { count } from '#shared/resources/fields.ts';
import { defineKind } from '#shared/resources/kind.ts';
import { optionalText } from '#shared/resources/schema.ts';

export const siteQuota = defineKind({
  group: 'quota.example.org',
  version: 'v1',
  scope: 'Cluster',
  kind: 'SiteQuota',
  plural: 'sitequotas',
  shortNames: ['sq'],
  category: 'sdewan',
  description: 'How many rules a site can have.',
  spec: z.strictObject({
    site: optionalText({
      must: 'must be the name of a site',
      maxLength: 63,
      pattern: '[a-z][a-z0-9-]*',
      holds: (value) => !value.includes('--'),
    }).describe('The site.'),
    rules: count(1, 1_000).describe('How many rules.'),
  }),
  specRules: [specRule('site', given('site'), 'is required')],
  columns: [{ name: 'Site', type: 'string', jsonPath: '.spec.site' }],
});
