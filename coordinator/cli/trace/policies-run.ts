import { familyOf } from '#shared/util/addresses.ts';
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { isNotFound } from '#shared/kube/errors.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import { identityOf, objectSchema, type ResourceType } from '#shared/kube/objects.ts';
import { spelled, spelling } from '#shared/policy/address-blocks.ts';
import { PROTOCOLS } from '#shared/policy/network-policy.ts';
import { CLUSTER_PLACE } from '#shared/policy/networks.ts';
import { addressGroupResource } from '#shared/resources/other-kinds/address-group.ts';
import { policyEnforcementResource } from '#shared/resources/other-kinds/policy-enforcement.ts';
import { addressedStatusSchema, addressesIn } from '../../sources/pod-addresses.ts';
import { policyAnnotationsAmong } from '../../sources/policy-annotation.ts';
import { cnfPodOf } from '../../sources/cnf-pod.ts';
import { templateFactsOf, podResource } from '../../sources/workload.ts';
import { gatewaysOf, type Gateway } from '../../controllers/network-policy/enforcing-cnfs.ts';
import { orLacking, withCluster } from '../cluster/connect.ts';
import { listAll } from '../cluster/lists.ts';
import { namespaceOf } from '../cluster/scope.ts';
import { EXIT, optionsBy, type CommandIo, type ExitCode, type Given } from '../command.ts';
import { formatSchema, print } from '../../views/output/format.ts';
import { policyTraceText, policyTraceView, type End, type PolicyTraceView } from './policies.ts';
import { NotThereError, UsageError } from '../../views/usage-error.ts';

const MAX_PORT = 65_535;
const optionsSchema = formatSchema.extend({
  from: z.string({ error: '--to needs --from' }),
  to: z.string({ error: '--from needs --to' }),
  proto: z
    .string()
    .transform((text) => text.toUpperCase())
    .pipe(z.enum(PROTOCOLS, { error: '--proto must be tcp, udp or sctp with --from and --to' })),
  dport: z.coerce
    .number({ error: '--dport must be a port' })
    .int()
    .min(1, '--dport must be a port')
    .max(MAX_PORT, '--dport must be a port'),
});

/** @throws UsageError */
export const tracePolicies = (
  given: Given['options'],
  io: CommandIo,
  signal: AbortSignal,
): Promise<ExitCode> => {
  const data = optionsBy(optionsSchema, given);
  return withCluster({ options: given, io }, async ({ client, namespace: usual }) => {
    const namespace = namespaceOf(given, usual) ?? usual;
    const ends = await Promise.all(
      [data.from, data.to].map((text) => addressesOf(text, { client, namespace, signal })),
    );
    const [from, to] = inOneFamily(ends);
    // Everywhere: which CNF a packet passes is not known beforehand.
    const [enforcements, groups] = await Promise.all([
      listAll({ client, signal }, policyEnforcementResource),
      listAll({ client, signal }, addressGroupResource),
    ]);
    const packet = { protocol: data.proto, port: data.dport };
    const hasSecond = enforcements.some(({ spec }) => spec.place !== CLUSTER_PLACE);
    const networks = hasSecond ? await enforcingCnfs(client, signal) : [];
    const view = policyTraceView({ enforcements, groups, networks }, { from, to, packet });
    print(io, data.output, { data: view, table: () => policyTraceText(view) });
    return CODES[view.verdict];
  });
};

const CODES: Readonly<Record<PolicyTraceView['verdict'], ExitCode>> = {
  allowed: EXIT.done,
  denied: EXIT.no,
  unknown: EXIT.unknown,
};

const pods = {
  ...podResource,
  schema: objectSchema.extend({ status: addressedStatusSchema.optional() }),
} satisfies ResourceType;

const cnfPods = {
  ...podResource,
  schema: objectSchema.transform((object) => ({
    ...identityOf(object),
    pod: cnfPodOf(object),
    aboutPolicies: templateFactsOf(object).aboutPolicies,
  })),
};

/** In all namespaces. */
const enforcingCnfs = async (client: KubeClient, signal: AbortSignal): Promise<Gateway[]> => {
  const found = await listAll({ client, signal }, cnfPods, { labelSelector: PURPOSE_LABEL });
  return gatewaysOf(policyAnnotationsAmong(found)).gateways;
};

type Resolved = { name: string | undefined; addresses: readonly string[] };
type Place = { client: KubeClient; namespace: string; signal: AbortSignal };

/** An address, `pod`, or `namespace/pod`. @throws UsageError */
const addressesOf = async (text: string, { client, ...usual }: Place): Promise<Resolved> => {
  const address = spelled(text)?.address;
  if (address !== undefined) return { name: undefined, addresses: [address] };
  const [first = '', second, ...rest] = text.split('/');
  if (rest.length > 0) throw new UsageError(`${text}: must be an address, POD or NAMESPACE/POD`);
  const [namespace, name] = second === undefined ? [usual.namespace, first] : [first, second];
  try {
    const pod = await client.get(pods, { namespace, name }, { signal: usual.signal });
    const addresses = addressesIn(pod.status ?? {}).map(spelling);
    if (addresses.length === 0) throw new UsageError(`pod ${namespace}/${name} has no address yet`);
    return { name: `${namespace}/${name}`, addresses };
  } catch (error) {
    if (isNotFound(error)) throw new NotThereError(`there is no pod ${namespace}/${name}`);
    throw orLacking(error, { verb: 'get', resource: 'pods', namespace });
  }
};

/** IPv4 where both have it. @throws UsageError */
const inOneFamily = (ends: readonly Resolved[]): [End, End] => {
  const of = (family: 4 | 6): End[] =>
    ends.flatMap(({ name, addresses }) => {
      const address = addresses.find((one) => familyOf(one) === family);
      return address === undefined ? [] : [{ name, address }];
    });
  for (const family of [4, 6] as const) {
    const [from, to] = of(family);
    if (from && to) return [from, to];
  }
  throw new UsageError('--from and --to have no addresses of one version of IP');
};
