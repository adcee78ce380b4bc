import { expect, it } from 'vitest';
import { acceptedIn } from './consents.ts';

it('takes names between commas, and none of an annotation that is longer than 16,384 characters', () => {
  expect(acceptedIn(undefined)).toEqual([]);
  expect(acceptedIn(' shop, ,till,')).toEqual(['shop', 'till']);
  expect(acceptedIn('shop,'.padEnd(16_384, ' '))).toEqual(['shop']);
  expect(acceptedIn('shop,'.padEnd(16_385, ' '))).toEqual([]);
});
