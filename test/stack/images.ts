/** Which local program stands for which image on the process kubelet. */
import path from 'node:path';
import type { ImageProcess } from 'kind-test-harness';

export const AGENT_IMAGE = 'sdewan-agent:dev';
export const COORDINATOR_IMAGE = 'sdewan-coordinator:dev';
/** The CNF's image as the seed names it; the simulator stands for it. */
export const CNF_IMAGE = 'integratedcloudnative/openwrt:dev';

const program = (file: string): string[] => [
  process.execPath,
  path.resolve(import.meta.dirname, '../..', file),
];

export const images = (): Record<string, ImageProcess> => ({
  [AGENT_IMAGE]: { command: program('agent/main.ts') },
  [COORDINATOR_IMAGE]: { command: program('coordinator/main.ts') },
  [CNF_IMAGE]: {
    command: program('test/openwrt-simulator/main.ts'),
    ports: { 80: 10_080, 443: 10_443 },
    // No login for the agent: a stock image, on which it makes its own.
    env: { SIMULATOR_STATE_DIRECTORY: '/simulator' },
    directories: ['/etc', '/usr/share/rpcd', '/simulator'],
  },
});
