/**
 * What a kustomization of this folder installs, without kustomize: of its features only those that
 * are used here, and an error for any other. Tests hold it to what kubectl renders.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import * as z from 'zod';

const manifestSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
  }),
});
export type Manifest = z.infer<typeof manifestSchema>;

const kustomizationSchema = z.strictObject({
  apiVersion: z.string(),
  kind: z.literal('Kustomization'),
  namespace: z.string().optional(),
  labels: z.array(z.strictObject({ pairs: z.record(z.string(), z.string()) })).default([]),
  resources: z.array(z.string()),
  /** For overlays alone. */
  configurations: z.array(z.string()).optional(),
});

/** The documents of a file, as they are. @throws when one is no object of Kubernetes */
export const manifestsIn = (file: string): Manifest[] =>
  parseAllDocuments(readFileSync(file, 'utf8')).map((document) =>
    manifestSchema.parse(document.toJS()),
  );

/** @throws for a kustomization that uses more than this reads */
export const manifestsOf = (folder: string): Manifest[] => {
  const text = readFileSync(join(folder, 'kustomization.yaml'), 'utf8');
  const { namespace, labels, resources } = kustomizationSchema.parse(parse(text));
  const pairs = Object.assign({}, ...labels.map((one) => one.pairs));
  return resources
    .flatMap((name) => {
      const path = join(folder, name);
      return statSync(path).isDirectory() ? manifestsOf(path) : manifestsIn(path);
    })
    .map((manifest) => ({
      ...manifest,
      metadata: {
        ...manifest.metadata,
        ...(namespace !== undefined && { namespace }),
        ...((manifest.metadata.labels !== undefined || labels.length > 0) && {
          labels: { ...manifest.metadata.labels, ...pairs },
        }),
      },
    }));
};
