/** How the one-binary control plane is built. */
import { join } from 'node:path';

import type { GoProgram } from '../go-build.ts';
import { KUBERNETES_VERSION } from '../paths.ts';

/** `node` adds kubelet and kube-proxy to the binary. */
export type BuildVariant = 'control-plane' | 'node';

const [MAJOR, MINOR] = KUBERNETES_VERSION.split('.');
const LINKER_FLAGS = [
  '-s -w',
  ...['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].map(
    (module) =>
      `-X ${module}.gitVersion=v${KUBERNETES_VERSION} -X ${module}.gitMajor=${MAJOR} -X ${module}.gitMinor=${MINOR}`,
  ),
].join(' ');

export const controlPlaneProgram = (variant: BuildVariant): GoProgram => ({
  name: variant,
  sources: join(import.meta.dirname, '../../control-plane'),
  binary: 'control-plane',
  flags: ['-ldflags', LINKER_FLAGS, ...(variant === 'node' ? ['-tags', 'node'] : [])],
  coldBuildCoreSeconds: 440,
  instead: 'set KUBECONFIG or KUBEBUILDER_ASSETS',
});
