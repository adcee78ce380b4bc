/**
 * What `kubectl apply -k deploy` installs. A bundle has no such folder beside it: there
 * deploy/images/bundle.ts puts what this one reads.
 */
import { join } from 'node:path';
import { manifestsOf, type Manifest } from './kustomization.ts';

export const installedManifests = (): Manifest[] => manifestsOf(join(import.meta.dirname, '..'));
