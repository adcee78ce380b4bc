/** What all pods of the process kubelet share. */
import type { ImageStore } from '../images.ts';
import type { KubeClient } from '../kube/client.ts';
import type { AddressPool } from './addresses.ts';
import type { ObjectSources } from './environment.ts';
import type { EventRecorder } from './events.ts';
import type { Services } from './services.ts';

export type KubeletContext = {
  client: KubeClient;
  /** Folder that gets a folder per pod, named by uid, and links by name. */
  podsDirectory: string;
  logsDirectory: string;
  images: ImageStore;
  addresses: AddressPool;
  events: EventRecorder;
  services: Services;
  hostIP: string;
  /** In every container's environment: the cluster's mark and the API server's address. */
  environment: Readonly<Record<string, string>>;
  sourcesOf: (namespace: string) => ObjectSources;
  /** For tests of renewal; a kubelet renews at 80 % of the lifetime. */
  renewTokensAfterMs?: number | undefined;
  now: () => number;
  onError: (error: unknown) => void;
  /** Aborted when the harness goes down: from then on nothing is started or written. */
  signal: AbortSignal;
};
