/** The status of CNFStatus objects out of the agents' reports. Pure; equal pods, equal status. */
import {
  MAX_STATUS_PODS,
  type CnfStatus,
  type PodStatus,
} from '#shared/resources/other-kinds/cnf-status.ts';
import type { Reported } from '../../reports/reports.ts';
import type { CnfPod } from '../../sources/cnf-pod.ts';
import type { PodPlace } from '../../sources/workload.ts';
import { icnModules } from './icn-modules.ts';

/** With what its agent has reported of its OpenWRT. */
export type ReportedPod = Pick<CnfPod, 'name' | 'namespace' | 'notReady' | 'ready'> &
  Pick<PodPlace, 'ip' | 'node'> & {
    purpose: string;
    /** It does not belong to the CNF, although it has its purpose. */
    ownerless: boolean;
    /** Why what was reported last may not hold any more; undefined when it does. */
    problem: string | undefined;
    reported: Reported | undefined;
  };

/** etcd takes 1.5 MiB, more than people read. */
const MAX_BYTES = 393_216;
const MAX_PROBLEMS = 5;

/** For one purpose. Without `appliedTime`. */
export const statusOf = (pods: readonly ReportedPod[]): CnfStatus => ({
  ...summaryOf(pods),
  information: listed(pods, (pod, hasRoom) => ({
    ...headOf(pod),
    status: isAvailable(pod) ? 'Available' : 'Not Available',
    ready: pod.ready,
    ...messageOf(pod),
    ...(pod.reported && hasRoom ? reportedOf(pod.reported) : {}),
  })),
});

/** ICN's object for all purposes, `status` as its controller writes it. Without `appliedTime`. */
export const classicStatusOf = (pods: readonly ReportedPod[]): CnfStatus => ({
  ...summaryOf(pods),
  information: listed(pods, (pod, hasRoom) => ({
    ...headOf(pod),
    status:
      pod.reported && isAvailable(pod) && hasRoom
        ? JSON.stringify(icnModules(pod.reported.information))
        : 'Not Available',
  })),
});

/** What is wrong with the pod explains what is wrong with its OpenWRT. */
const problemsOf = ({ notReady, problem }: ReportedPod): string =>
  [notReady, problem ?? ''].filter((text) => text !== '').join('; ');

const messageOf = (pod: ReportedPod): Pick<PodStatus, 'message'> => {
  const message = problemsOf(pod).slice(0, 1_024);
  return message === '' ? {} : { message };
};

const isAvailable = ({ reported, problem }: ReportedPod): boolean =>
  reported !== undefined && problem === undefined;

const headOf = ({ name, namespace, node, purpose, ip }: ReportedPod) => ({
  name,
  namespace,
  ...(node === undefined ? {} : { node }),
  purpose,
  ...(ip === undefined ? {} : { ip }),
});

const reportedOf = ({ information, since }: Reported) => ({
  observedTime: new Date(since).toISOString().replace(/\.\d+Z$/, 'Z'),
  ...(information.firewall ? { firewall: information.firewall } : {}),
  interfaces: information.interfaces,
  wans: information.wans,
  tunnels: information.tunnels,
  routes: information.routes,
  ...(information.leftOvers ? { leftOvers: information.leftOvers } : {}),
  ...(information.leftOut > 0 ? { leftOut: information.leftOut } : {}),
});

const listed = (
  pods: readonly ReportedPod[],
  entryOf: (pod: ReportedPod, hasRoom: boolean) => PodStatus,
): PodStatus[] => {
  let bytes = 0;
  return inOrder(pods)
    .slice(0, MAX_STATUS_PODS)
    .map((pod) => {
      const whole = entryOf(pod, true);
      const size = Buffer.byteLength(JSON.stringify(whole));
      const hasRoom = bytes + size <= MAX_BYTES;
      bytes += hasRoom ? size : 0;
      return hasRoom ? whole : entryOf(pod, false);
    });
};

const summaryOf = (pods: readonly ReportedPod[]): CnfStatus => {
  const counted = pods.filter(({ ownerless }) => !ownerless);
  const reported = counted
    .filter(isAvailable)
    .flatMap(({ reported: known }) => (known ? [known.information] : []));
  const problems = inOrder(pods)
    .filter((pod) => problemsOf(pod) !== '')
    .map((pod) => `${problemsOf(pod)} (pod ${pod.name})`);
  const more = problems.length - MAX_PROBLEMS;
  const message = [
    ...problems.slice(0, MAX_PROBLEMS),
    ...(more > 0 ? [`and ${more} more`] : []),
  ].join('; ');
  return {
    pods: share(reported.length, counted.length),
    wans: shareUp(reported.flatMap(({ wans }) => wans)),
    tunnels: shareUp(reported.flatMap(({ tunnels }) => tunnels)),
    ...(message === '' ? {} : { message: message.slice(0, 2_048) }),
  };
};

const shareUp = (all: readonly { up: boolean }[]) =>
  share(all.filter(({ up }) => up).length, all.length);

const share = (up: number, total: number) => ({ up, total, summary: `${up}/${total}` });

const inOrder = (pods: readonly ReportedPod[]): ReportedPod[] =>
  [...pods].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));

const keyOf = ({ namespace, name }: ReportedPod): string => `${namespace}/${name}`;
