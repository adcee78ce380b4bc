/**
 * Services exposed as FirewallDNATs on the real API server, by a coordinator that is killed again
 * and again.
 */
import { expect, it } from 'vitest';
import * as z from 'zod';
import { firewallDnat } from '#shared/resources/rules/firewall-dnat.ts';
import { objectSchema, resourceV1, type RuleObject } from '#shared/kube/objects.ts';
import { randomOfTest } from '../../run/random.ts';
import { pause } from '../support/eventually.ts';
import type { Fixture } from '../coordinator/fixture.ts';
import { eventually } from '../support/eventually.ts';

const portSchema = z.object({ name: z.string(), port: z.number(), protocol: z.string() });
const serviceSchema = objectSchema.extend({
  spec: z.object({
    type: z.string().optional(),
    clusterIP: z.string().optional(),
    clusterIPs: z.array(z.string()).optional(),
    ports: z.array(portSchema).optional(),
  }),
});
const services = { ...resourceV1('', 'services', 'Service'), schema: serviceSchema };
const EXPOSE = 'sdewan.akraino.org/expose';
const ZONE = 'sdewan.akraino.org/expose-zone';
const SERVICES = 200;

const specSchema = z.record(z.string(), z.string());

type Port = z.infer<typeof portSchema>;
type Service = z.infer<typeof serviceSchema>;

const port = (number: number, protocol = 'TCP'): Port => ({
  name: `${protocol.toLowerCase()}-${number}`,
  port: number,
  protocol,
});

const isMade = ({ metadata }: RuleObject): boolean =>
  metadata.labels?.['app.kubernetes.io/managed-by'] === 'sdewan-coordinator';

/** The coordinator's default zone has to be `wan`. */
export const servicesSuite = (fixtureNow: () => Fixture): void => {
  const createService = (name: string, spec: object): Promise<Service> => {
    const { client, namespace } = fixtureNow();
    const annotations = { [EXPOSE]: `${namespace}/cnf-1` };
    const metadata = { name, namespace, annotations };
    return client.create(services, { apiVersion: 'v1', kind: 'Service', metadata, spec });
  };

  const patchService = (name: string, body: object): Promise<unknown> =>
    fixtureNow().client.patch(
      services,
      { namespace: fixtureNow().namespace, name },
      { patch: { type: 'merge', body } },
    );

  const deleteService = (name: string): Promise<void> =>
    fixtureNow().client.delete(services, { namespace: fixtureNow().namespace, name });

  const rulesNow = async (): Promise<RuleObject[]> => {
    const { items } = await fixtureNow().client.list(firewallDnat, {
      namespace: fixtureNow().namespace,
    });
    return items;
  };
  /**
   * `service uid zone port proto address` of each rule, as the Services that are there ask for it.
   */
  const askedFor = async (): Promise<string[]> => {
    const { items } = await fixtureNow().client.list(services, {
      namespace: fixtureNow().namespace,
    });
    return items
      .flatMap(({ metadata, spec }) => {
        const { annotations = {}, uid, name } = metadata;
        if (annotations[EXPOSE] === undefined || annotations[EXPOSE] === 'none') return [];
        return (spec.ports ?? []).flatMap((one) =>
          (spec.clusterIPs ?? []).map((address) =>
            [name, uid, annotations[ZONE] ?? 'wan', one.port, one.protocol, address].join(' '),
          ),
        );
      })
      .sort();
  };

  const made = async (): Promise<string[]> =>
    (await rulesNow())
      .filter(isMade)
      .map(({ metadata, spec }) => {
        const { src, src_dport, proto, dest_ip, dest_port } = specSchema.parse(spec);
        expect(src_dport).toBe(dest_port);
        expect(metadata.labels).toMatchObject({
          'sdewan-bucket-type': 'k8s-service',
          sdewanPurpose: 'cnf-1',
          'sdewan.akraino.org/service-namespace': fixtureNow().namespace,
        });
        expect(metadata.ownerReferences).toBeUndefined();
        const name = metadata.labels?.['sdewan.akraino.org/service-name'];
        const uid = metadata.labels?.['sdewan.akraino.org/service-uid'];
        return [name, uid, src, src_dport, proto?.toUpperCase(), dest_ip].join(' ');
      })
      .sort();

  const eventsAbout = async (name: string): Promise<string> => {
    const { cluster, namespace } = fixtureNow();
    const about = ['--field-selector', `involvedObject.name=${name}`];
    return (await cluster.kubectl(['get', 'events', '-n', namespace, ...about])).stdout;
  };

  it('gives a Service that comes second for a port of a zone an Event, and the port when the older has gone', async () => {
    await createService('first', { ports: [port(8_080)] });
    await pause(1_100); // age is told in whole seconds
    await createService('second', { ports: [port(8_080)] });
    await eventually(() => eventsAbout('second')).toMatch(
      /PortTaken .* port 8080 tcp .* belongs to Service .*\/first/,
    );
    await eventually(made).toEqual([expect.stringMatching(/^first .* 8080 TCP/)]);
    await deleteService('first');
    await eventually(made).toEqual([expect.stringMatching(/^second .* 8080 TCP/)]);
    await deleteService('second');
    await eventually(made).toEqual([]);
  });

  it('200 Services made, changed and deleted in random order, the coordinator killed three times: the rules match exactly, and no other is touched', async () => {
    const foreign = await Promise.all(
      ['svc-by-hand', 'by-hand'].map((name) =>
        fixtureNow().client.create(firewallDnat, {
          apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
          kind: 'FirewallDNAT',
          metadata: {
            name,
            namespace: fixtureNow().namespace,
            labels: { sdewanPurpose: 'cnf-1', 'sdewan-bucket-type': 'k8s-service' },
          },
          spec: { src: 'wan', src_dport: '1', proto: 'tcp', dest_ip: '10.0.0.1' },
        }),
      ),
    );
    const { int: random } = randomOfTest();
    const nameOf = (at: number): string => `s-${at}`;
    // Ports of their own, so that all are exposed.
    const specOf = (at: number) => ({
      ports: [port(1_000 + 10 * at), port(1_001 + 10 * at, 'UDP')].slice(0, 1 + (at % 2)),
      ipFamilyPolicy: at % 3 === 0 ? 'RequireDualStack' : 'SingleStack',
      ...(at % 3 === 1 && { ipFamilies: ['IPv6'] }),
    });
    const order = Array.from({ length: SERVICES }, (_, at) => at);
    for (const at of order.keys()) {
      const other = random(SERVICES);
      [order[at], order[other]] = [order[other] ?? 0, order[at] ?? 0];
    }

    const change = async (at: number): Promise<void> => {
      const name = nameOf(at);
      switch (random(6)) {
        case 0:
          return deleteService(name);
        case 1:
          await deleteService(name);
          await createService(name, specOf(at));
          return undefined;
        case 2:
          await patchService(name, { spec: { ports: [port(1_005 + 10 * at)] } });
          return undefined;
        case 3:
          await patchService(name, { metadata: { annotations: { [ZONE]: 'lan' } } });
          return undefined;
        case 4:
          await patchService(name, { metadata: { annotations: { [EXPOSE]: 'none' } } });
          return undefined;
        default:
          return undefined;
      }
    };
    const changes = async (): Promise<void> => {
      const there: number[] = [];
      for (const at of order) {
        await createService(nameOf(at), specOf(at));
        there.push(at);
        if (random(2) === 0) continue;
        const [chosen] = there.splice(random(there.length), 1);
        if (chosen !== undefined) await change(chosen);
        await pause(5);
      }
    };
    const kills = async (): Promise<void> => {
      for (let round = 0; round < 3; round += 1) {
        await pause(300 + random(700));
        await fixtureNow().killCoordinator();
        await fixtureNow().startCoordinator();
      }
    };
    await Promise.all([changes(), kills()]);

    const asked = await askedFor();
    expect(asked.length).toBeGreaterThan(SERVICES / 2);
    await eventually(made).toEqual(asked);
    const left = (await rulesNow()).filter((rule) => !isMade(rule));
    expect(left.map(({ metadata, spec }) => [metadata.uid, metadata.labels, spec])).toEqual(
      foreign
        .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
        .map(({ metadata, spec }) => [metadata.uid, metadata.labels, spec]),
    );
    expect(left.map(({ metadata }) => metadata.deletionTimestamp)).toEqual([undefined, undefined]);
  });
};
