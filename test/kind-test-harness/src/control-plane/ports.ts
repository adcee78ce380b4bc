import { createServer } from 'node:net';

/**
 * Free TCP ports of 127.0.0.1, all different. Nothing reserves them: callers must cope with a loss.
 */
export const findFreePorts = async (count: number): Promise<number[]> => {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      async (server) =>
        await new Promise<number>((resolve, reject) => {
          server.once('error', reject);
          server.listen(0, '127.0.0.1', () => {
            const address = server.address();
            resolve(address !== null && typeof address === 'object' ? address.port : 0);
          });
        }),
    ),
  );
  await Promise.all(
    servers.map(async (server) => await new Promise((resolve) => server.close(resolve))),
  );
  return ports;
};
