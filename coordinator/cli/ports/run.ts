import { managedNetworkResource } from '#shared/resources/other-kinds/managed-network.ts';
import { networkPortResource } from '#shared/resources/other-kinds/network-port.ts';
import { portPods } from '../../controllers/network-ports/objects.ts';
import { virtualAddresses } from '../../controllers/network-ports/virtual-addresses.ts';
import { formatSchema, print } from '../../views/output/format.ts';
import { rightsOf } from '../../views/rights.ts';
import { withCluster } from '../cluster/connect.ts';
import { eventResource } from '../cluster/events.ts';
import { createLook, listAll } from '../cluster/lists.ts';
import { namespaceIsThere, namespaceOf } from '../cluster/scope.ts';
import { EXIT, type ExitCode, type Run } from '../command.ts';
import { oneNamed } from '../explain/target.ts';
import { portsText, portsViewOf, type PortsView } from './view.ts';

export const runPorts: Run = ({ args: [name], options }, io, signal) =>
  withCluster({ options, io }, async ({ client, namespace: usual }) => {
    const { output } = formatSchema.parse(options);
    const namespace = namespaceOf(options, usual);
    const reader = { client, signal };
    const look = createLook(reader);
    const all = await listAll(reader, managedNetworkResource);
    const networks =
      name === undefined ? all : [oneNamed(all, { kind: managedNetworkResource.kind, name })];
    const fieldSelector = 'involvedObject.kind=Pod,type=Warning';
    const [ports, pods, moving, events] = await Promise.all([
      listAll(reader, networkPortResource),
      look.list(portPods, { namespace }),
      look.list(virtualAddresses, { namespace }),
      look.list(eventResource, { namespace, fieldSelector }),
    ]);
    if (namespace !== undefined && pods?.length === 0)
      await namespaceIsThere(client, namespace, signal);
    const notSeen = [
      ...rightsOf(look.lacking),
      ...look.absent.map((kind) => `this cluster does not know ${kind}`),
    ];
    const view = portsViewOf({ networks, ports, pods, moving, events, namespace, notSeen });
    const table = (isWide: boolean): string => portsText(view, { isWide, now: Date.now() });
    print(io, output, { data: view, table });
    for (const line of notSeen) io.say(line);
    return codeOf(view);
  });

const codeOf = ({ networks, notSeen, waiting }: PortsView): ExitCode => {
  if (waiting.length > 0 || networks.some(({ ready }) => !ready)) return EXIT.no;
  return notSeen.length > 0 ? EXIT.unknown : EXIT.done;
};
