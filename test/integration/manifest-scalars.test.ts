/**
 * What kubectl itself reads of plain scalars of YAML, against what the commands of `sdewan` read of
 * them.
 */
import * as fc from 'fast-check';
import { connectCluster } from 'kind-test-harness';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { caseCount } from '#shared/runtime/testing.ts';
import { locatedObjects } from '../../coordinator/cli/manifest/positions.ts';

const objectSchema = z.object({ spec: z.record(z.string(), z.unknown()) });

/** Pieces of which numbers and words are made, in every spelling of either version of YAML. */
const scalars = fc.oneof(
  fc.constantFrom('yes', 'No', 'ON', 'off', 'y', 'N', 'true', 'False', 'tRue', '~', 'null', '1:30'),
  fc.constantFrom('2001-01-01', '010', '089', '0o17', '0x1F', '0b101', '1_000', '1.5', '5.', '1e3'),
  fc
    .array(fc.constantFrom('0', '1', '7', '8', '_', '.', 'x', 'b', 'o', 'e', '-', '+', 'F'), {
      minLength: 1,
      maxLength: 7,
    })
    .map((pieces) => pieces.join(''))
    // Neither a sign of a list or an end of the document, nor what JSON has no number for.
    .filter((text) => !/^[-.]+$|e[-+]?\d{3}/.test(text)),
);

it('sdewan reads each scalar of a manifest as kubectl does', async () => {
  const cluster = await connectCluster();
  const written = fc.sample(scalars, caseCount(300));
  const text = [
    'apiVersion: batch.sdewan.akraino.org/v1alpha1',
    'kind: FirewallRule',
    'metadata: { name: a }',
    'spec:',
    ...written.map((scalar, at) => `  k${at}: ${scalar}`),
    '',
  ].join('\n');
  const read = await cluster.kubectl(['label', '--local', '-f', '-', 'a=b', '-o', 'json'], {
    stdin: text,
  });
  const { spec } = objectSchema.parse(JSON.parse(read.stdout));
  const ours = objectSchema.parse(locatedObjects(text)[0]?.value).spec;
  const differences = written.flatMap((scalar, at) => {
    const [theirs = null, own = null] = [spec[`k${at}`], ours[`k${at}`]];
    return Object.is(theirs, own) ? [] : [{ scalar, theirs, own }];
  });
  expect(differences).toEqual([]);
});
