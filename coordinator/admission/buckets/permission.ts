/**
 * The annotation `sdewan-bucket-type-permission`: a JSON object from patterns of resource plurals
 * to lists of patterns of bucket types. Anything else in it grants nothing.
 */
import * as z from 'zod';
import { jsonIn } from '#shared/util/json.ts';
import { parseUntrusted, recordOf } from '#shared/util/untrusted.ts';
import { matchesPattern } from './wildcard.ts';

const permissionSchema = recordOf(z.array(z.string()));

export const grantsBucket = (annotation: string, plural: string, bucketType: string): boolean =>
  Object.entries(parseUntrusted(permissionSchema, jsonIn(annotation)).data ?? {}).some(
    ([resource, types]) =>
      matchesPattern(resource, plural) && types.some((type) => matchesPattern(type, bucketType)),
  );
