/** Which local program stands for which image on the process kubelet. */
import { homedir } from 'node:os';
import path from 'node:path';
import type { ImageProcess } from 'kind-test-harness';
import { INSPECT_PORT } from '#shared/protocol/inspection.ts';
import { rootFileSystem } from '../openwrt/device/root-file-system.ts';
import { COMPILE_CACHE } from './compile-cache.ts';
import { programFile, type Program } from './programs.ts';

export const AGENT_IMAGE = 'sdewan-agent:dev';
export const COORDINATOR_IMAGE = 'sdewan-coordinator:dev';
/** The CNF's image as the seed names it; the simulator stands for it. */
export const CNF_IMAGE = 'integratedcloudnative/openwrt:dev';

/** The name that deploy/examples give the image of deploy/cnf-image. */
const EXAMPLE_IMAGE = 'cnf-openwrt:dev';

const CLI = path.resolve(import.meta.dirname, '../../coordinator/cli/main.ts');

const simulator = (): ImageProcess => ({
  command: [process.execPath, programFile('simulator')],
  ports: { 80: 10_080, 443: 10_443 },
  // No login for the agent: a stock image, on which it makes its own.
  env: {
    ...COMPILE_CACHE,
    SIMULATOR_STATE_DIRECTORY: '/simulator',
    // As slow as measured on OpenWRT: without it, what comes too early would look in time.
    SIMULATOR_RELOAD_MS_PER_RULE: '0.6',
    SIMULATOR_MWAN3_MS: '1000',
    SIMULATOR_IPSEC_MS: '100',
    SIMULATOR_WRITE_MS_PER_KILOBYTE: '0.2',
    SIMULATOR_UCI_MS_PER_KILOBYTE: '0.03',
  },
  directories: ['/etc', '/usr/share/rpcd', '/simulator'],
});

/**
 * A real OpenWRT in the simulator's place, as `npm run suite -- device --product` has it; root on
 * Linux.
 */
const device = (): ImageProcess => ({
  command: [path.resolve(import.meta.dirname, '../openwrt/device/cnf.sh')],
  ports: { 80: 10_080, 443: 10_443 },
  env: {
    SDEWAN_OPENWRT_ROOTFS: rootFileSystem(),
    // A container has another home.
    OPENWRT_DEVICE_DIR:
      process.env['OPENWRT_DEVICE_DIR'] || path.join(homedir(), '.cache/openwrt-device'),
  },
  directories: ['/etc', '/usr/share/rpcd'],
});

export type ImagesOptions = {
  /**
   * The agent and the coordinator start anew, in their pods, whenever one of their files is saved.
   */
  watch?: boolean;
  /** Node's options of the agent. */
  agentFlags?: readonly string[];
};

export const images = ({ watch = false, agentFlags = [] }: ImagesOptions = {}): Record<
  string,
  ImageProcess
> => {
  const flags = watch ? ['--watch', '--watch-preserve-output'] : [];
  const program = (name: Program, own: readonly string[] = []): ImageProcess => ({
    command: [process.execPath, ...flags, ...own, programFile(name)],
    env: COMPILE_CACHE,
  });
  const openwrt = process.env['CNF_IS_DEVICE'] === '1' ? device() : simulator();
  return {
    // Pods share this machine's loopback: a port that the image maps, and its URL, are at the
    // address of the pod.
    [AGENT_IMAGE]: {
      ...program('agent', agentFlags),
      env: { ...COMPILE_CACHE, SDEWAN_INSPECT_URL: `http://127.0.0.1:${INSPECT_PORT}` },
      ports: { [INSPECT_PORT]: INSPECT_PORT },
    },
    [COORDINATOR_IMAGE]: {
      ...program('coordinator'),
      programs: { '/usr/local/bin/node /app/sdewan.mjs': [process.execPath, CLI] },
    },
    [CNF_IMAGE]: openwrt,
    [EXAMPLE_IMAGE]: openwrt,
  };
};
