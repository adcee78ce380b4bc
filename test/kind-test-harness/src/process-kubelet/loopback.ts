/**
 * Containers of a pod reach each other on its loopback address. Here the pod has an address of its
 * own instead.
 */

/** Port of the container, by what the spec says -> port of this machine, on the pod's address. */
export type PortMap = ReadonlyMap<number, number>;

const LOOPBACK_URL =
  /\b(https?|wss?):\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::(\d+))?(?=[/?#,;\s"']|$)/g;
const DEFAULT_PORTS: Readonly<Record<string, number>> = { http: 80, ws: 80, https: 443, wss: 443 };

/**
 * Only URLs whose port a container of the pod declares or maps: another one is a server of this
 * machine.
 */
export const rewriteLoopbackUrls = (text: string, podIP: string, ports: PortMap): string =>
  text.replaceAll(LOOPBACK_URL, (url, scheme: string, port: string | undefined) => {
    const local = ports.get(port === undefined ? (DEFAULT_PORTS[scheme] ?? 0) : Number(port));
    return local === undefined ? url : `${scheme}://${podIP}:${local}`;
  });
