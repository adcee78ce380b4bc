/**
 * A TCP proxy between a client and a server, to do what networks do: count connections, freeze them
 * as a NAT that has forgotten them does (no reset, no data), or cut them.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';

export class TcpProxy {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #port = 0;
  #accepted = 0;
  #sent = 0;
  #away = false;
  #dropping = false;

  private constructor(target: { host: string; port: number }) {
    this.#server = createServer((near) => {
      this.#accepted += 1;
      if (this.#away) {
        near.destroy();
        return;
      }
      const far = connect(target);
      const pair = [near, far] as const;
      this.#pairs.add(pair);
      if (!this.#dropping) {
        near.pipe(far);
        far.pipe(near);
      }
      near.on('data', () => {
        this.#sent += 1;
      });
      for (const socket of pair) {
        socket.on('error', () => undefined);
        socket.once('close', () => {
          this.#pairs.delete(pair);
          near.destroy();
          far.destroy();
        });
      }
    });
  }

  static async start(targetUrl: string): Promise<TcpProxy> {
    const { hostname: host, port } = new URL(targetUrl);
    const proxy = new TcpProxy({ host, port: Number(port) });
    await new Promise<void>((resolve) => {
      proxy.#server.listen(0, '127.0.0.1', resolve);
    });
    const address = proxy.#server.address();
    if (address === null || typeof address === 'string')
      throw new Error('the proxy does not listen');
    proxy.#port = address.port;
    return proxy;
  }

  get port(): number {
    return this.#port;
  }

  /** Connections since the start. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Pieces of data from clients since the start. */
  get sent(): number {
    return this.#sent;
  }

  /**
   * Freezes the present connections: nothing passes, and neither side is notified. New connections
   * work.
   */
  freeze(): void {
    for (const [near, far] of this.#pairs) {
      near.unpipe(far);
      far.unpipe(near);
      near.pause();
      far.pause();
    }
  }

  /**
   * While it drops, nothing passes on any connection, and neither side is notified; afterwards the
   * delayed data passes, as TCP sends it again.
   */
  setDropping(dropping: boolean): void {
    if (dropping === this.#dropping) return;
    this.#dropping = dropping;
    if (dropping) this.freeze();
    else
      for (const [near, far] of this.#pairs) {
        near.pipe(far);
        far.pipe(near);
      }
  }

  /**
   * While it does not listen, new connections are refused; those that there are stay as they are.
   */
  setListening(listening: boolean): void {
    const isListening = this.#server.listening;
    if (listening && !isListening) this.#server.listen(this.#port, '127.0.0.1');
    if (!listening && isListening) this.#server.close();
  }

  /** Resets the connections of now. */
  cut(): void {
    for (const [near, far] of this.#pairs) {
      near.resetAndDestroy();
      far.destroy();
    }
  }

  /** While it is away every connection is refused. */
  setAway(away: boolean): void {
    this.#away = away;
    if (away) this.cut();
  }

  async stop(): Promise<void> {
    this.setAway(true);
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }
}
