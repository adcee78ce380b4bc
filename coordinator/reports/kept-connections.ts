/**
 * Which connections of agents stay open for the next report. One of a pod, so that none of them
 * takes the room of others; and a number in all, of which half is for those that report every few
 * seconds.
 */
import type { Socket } from 'node:net';

export type KeptConnectionsOptions = {
  most: number;
};

export class KeptConnections {
  readonly #byPod = new Map<string, Socket>();
  readonly #most: number;

  constructor({ most }: KeptConnectionsOptions) {
    this.#most = most;
  }

  /** Whether it is to stay. `isOften`: the next report is due in a few seconds. */
  keep(podUid: string, socket: Socket | undefined, isOften: boolean): boolean {
    if (socket === undefined) return true;
    const kept = this.#byPod.get(podUid);
    if (kept !== undefined) return kept === socket;
    if (this.#byPod.size >= (isOften ? this.#most : this.#most / 2)) return false;
    this.#byPod.set(podUid, socket);
    socket.once('close', () => this.#byPod.delete(podUid));
    return true;
  }
}
