/**
 * What the agent and the probes of its container share: files in the agent's state directory.
 * Probes are exec and touch no network, since rules can drop the kubelet's packets and http probes
 * would then kill the agent (measured), and they never start node: a shell's `test` costs about 28
 * ms of CPU on a real kubelet (measured).
 */
import type { InjectOptions } from './options.ts';
import { LAST_FILE, OWN_LOGIN_DIRECTORY_ENV } from './own-login-files.ts';

/** Mount path of the agent's emptyDir; the agent reads it from this environment variable. */
export const STATE_DIRECTORY_ENV = 'SDEWAN_STATE_DIR';
export const STATE_DIRECTORY = '/var/lib/sdewan';

/** Touched every `ALIVE_INTERVAL_MS` while the agent's event loop runs. */
export const ALIVE_FILE = 'alive';
export const ALIVE_INTERVAL_MS = 10_000;
/** Exists while the agent is ready: OpenWRT reachable and the first full pass done. */
export const READY_FILE = 'ready';
/** What is missing while the agent is not ready, a line for each; the kubelet's Event shows it. */
export const MISSING_FILE = 'missing';
/** What the agent owns on OpenWRT where names cannot be marked. */
export const LEDGER_FILE = 'ledger.json';

const inStateDirectory = (file: string): string => `"$${STATE_DIRECTORY_ENV}/${file}"`;
const shell = (script: string): { exec: { command: string[] } } => ({
  exec: { command: ['sh', '-c', script] },
});

/** Looks of one startup probe, and the seconds between them: they end before the next is due. */
const STARTUP_LOOKS = '1 2 3 4 5 6 7 8 9';
const STARTUP_PAUSE = '0.1';

/**
 * Never waits for OpenWRT: a native sidecar starts before it, and would block it for ever. It does
 * wait for the files of the own login, which the kubelet mounts into OpenWRT's container one by
 * one: one that is missing would become a folder there. Kubernetes probes once a second at most, so
 * the probe itself looks again: OpenWRT starts as soon as the files are there, half a second after
 * the agent.
 */
export const startupProbeOf = ({ ownLogin }: Pick<InjectOptions, 'ownLogin'>): object => ({
  ...shell(
    [
      `for look in ${STARTUP_LOOKS}`,
      [
        `do test -e ${inStateDirectory(ALIVE_FILE)}`,
        ...(ownLogin ? [`test -e "$${OWN_LOGIN_DIRECTORY_ENV}/${LAST_FILE}"`] : []),
        'exit 0',
      ].join(' && '),
      `sleep ${STARTUP_PAUSE}`,
      "done; echo 'the agent has not made its files yet'; false",
    ].join('; '),
  ),
  periodSeconds: 1,
  timeoutSeconds: 5,
  failureThreshold: 60,
});

/** `find -mmin -1` prints the file while it is younger than a minute; also in busybox and dash. */
export const livenessProbe = {
  ...shell(`test -n "$(find ${inStateDirectory(ALIVE_FILE)} -mmin -1)"`),
  periodSeconds: 20,
  timeoutSeconds: 5,
  failureThreshold: 3,
};

/**
 * One failure is none: on a busy node the kubelet cannot always start the shell in time, and the
 * file is there only while the agent, which tolerates short silences itself, is ready. The
 * coordinator receives at once that OpenWRT does not answer; rolling updates and Services wait.
 */
export const readinessProbe = {
  ...shell(
    `test -e ${inStateDirectory(READY_FILE)} || (cat ${inStateDirectory(MISSING_FILE)}; false)`,
  ),
  periodSeconds: 2,
  timeoutSeconds: 5,
  failureThreshold: 3,
};
