/** A pod of a CNFDeployment as a roll-out sees it. Neither finished nor being deleted. */
export type FleetPod = {
  name: string;
  /** Its `pod-template-hash`. */
  set: string;
  /** For Services. */
  ready: boolean;
  /**
   * Since when, as the kubelet has it and Kubernetes counts spec.minReadySeconds: wall-clock
   * milliseconds of a whole second.
   */
  readySince: number | undefined;
  containersReady: boolean;
  /** Why it is not ready, as the kubelet has it: an image that is not there, no node; or ''. */
  notReady: string;
  /** Since when its containers are not ready, as the kubelet has it, in ms; undefined: they are. */
  notReadySince: number | undefined;
  gate: 'none' | 'closed' | 'open';
  /** Its gate is open, and its kubelet has not come to that yet: it is not ready for that alone. */
  opening: boolean;
  /** Its label `active` is "true". */
  active: boolean;
  /** Unknown: this coordinator leads since a moment, and the agent has time left to report. */
  link: 'Connected' | 'Unknown' | 'Silent';
  /** Its silence counts: it has missed three reports, and its CNF's other agents are heard. */
  unheard: boolean;
  /** The distance that its agent has in force; undefined: none since it started. */
  actual: number | undefined;
  /** The annotation's weight, of any sign; 0 where it is no integer. */
  weight: number;
  /** Wall-clock milliseconds. */
  createdAt: number;
  /** From when its start counts; undefined: it waits for addresses of managed networks. */
  startsAt: number | undefined;
  /** Its node is cordoned: a drain is to be expected. */
  leaving: boolean;
  /** As Kubernetes has it. */
  deletionCost: number;
  /** The rules of the purpose that the pod does not have at today's revision, by kind and name. */
  missing: ReadonlyMap<string, MissingRule>;
};

export type MissingRule = {
  /** The agent says of today's revision that the pod cannot have it; else it has yet to try. */
  refused: boolean;
  reason: string;
};
