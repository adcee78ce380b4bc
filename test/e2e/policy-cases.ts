/**
 * What the installed policies deny, and what stands right beside it and is allowed: a case for each
 * validation, in their order. The message is the one of the API server; `denied` and `allowed` are
 * what `who` tries.
 */
import {
  HANDED_OVER_GATE,
  RETRIED_AT_ANNOTATION,
  ORDER_ANNOTATION,
  RESTART_ANNOTATION,
} from '#shared/names.ts';
import { rule } from '../stack/rules.ts';
import {
  account,
  apply,
  barePod,
  binding,
  bound,
  CA,
  configMap,
  COORDINATOR,
  create,
  dnat,
  lease,
  MARK,
  nat,
  NETWORK,
  OF_THE_TEST,
  OWNER,
  patch,
  PORT,
  RBAC,
  remove,
  replace,
  role,
  ROLLED,
  secret,
  SILENT,
  STRANGER,
  SYSTEM,
  WAITING,
  withMetadata,
  zone,
  type Attempt,
  type Places,
} from './policy-objects.ts';

type Attempts = Readonly<Record<string, Attempt>>;
export type Case = {
  policy: string;
  message: string;
  /** `tenant`: may write all rules of the namespace, and nothing else. */
  who: 'coordinator' | 'operator' | 'tenant';
  denied: Attempts;
  allowed: Attempts;
};

const purposes = ({ closed }: Places): Case[] => [
  {
    policy: 'sdewan-purpose',
    message: 'metadata.labels: sdewanPurpose is required: it names the CNF that the rule is for',
    who: 'operator',
    denied: {
      'create a rule without a purpose': create(zone(closed, 'lan2', { labels: {} })),
      'create a rule with an empty purpose': create(
        zone(closed, 'lan2', { labels: { sdewanPurpose: '' } }),
      ),
    },
    allowed: {
      'create it with one': create(zone(closed, 'lan2')),
      'create a CNFStatus, which can be for all CNFs': create(
        withMetadata(rule('CNFStatus', 'for-all', {}), { namespace: closed, labels: {} }),
      ),
    },
  },
  {
    policy: 'sdewan-purpose',
    message:
      'metadata.labels: sdewanPurpose cannot be changed from cnf-1; create another rule for the other CNF, then delete this one',
    who: 'operator',
    denied: {
      'move a rule to another CNF': relabelled('lan1', { sdewanPurpose: 'cnf-2' }, closed),
      'take the purpose from a rule': relabelled('lan1', { sdewanPurpose: null }, closed),
    },
    allowed: {
      'add another label': relabelled('lan1', { more: 'x' }, closed),
    },
  },
  {
    policy: 'sdewan-purpose',
    message: 'metadata.annotations[sdewan.akraino.org/order]: must be a whole number',
    who: 'operator',
    denied: {
      'create a rule with an order in words': create(ordered(closed, 'first')),
      'create a rule with half an order': create(ordered(closed, '1.5')),
      'create a rule with an empty order': create(ordered(closed, '')),
      'create a rule with an order beyond what can be counted': create(
        ordered(closed, '9007199254740992'),
      ),
      'give a rule such an order': patch(['firewallzone', 'lan1', '-n', closed], {
        metadata: { annotations: { [ORDER_ANNOTATION]: 'first' } },
      }),
    },
    allowed: {
      'create a rule with an order below zero': create(ordered(closed, '-5')),
      'create a rule with a sign and zeros before its order': create(ordered(closed, '+0007')),
      'create a rule with the last order': create(ordered(closed, '9007199254740991')),
    },
  },
];

const sizes = ({ closed }: Places): Case[] => {
  const ending = ['firewallzone', 'ending', '-n', closed];
  const owners = Array.from({ length: 129 }, (_, at) => ({ ...OWNER, uid: `${at}` }));
  const annotated = (length: number) =>
    zone(closed, 'lan2', { annotations: { a: 'x'.repeat(length) } });
  const named = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`label-${index}`, 'x']));
  const long = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `label-${1_000 + index}`.padEnd(63, 'x'),
        'x'.repeat(63),
      ]),
    );
  const forwarding = (annotations: Record<string, string>) =>
    withMetadata(rule('FirewallForwarding', 'f', { src: 'lan1', dest: 'lan1' }), {
      namespace: closed,
      annotations,
    });
  const withOne = (length: number) => forwarding({ a: 'x'.repeat(length - 1) });
  const withMany = (count: number) =>
    forwarding(
      Object.fromEntries(
        Array.from({ length: count }, (_, index) => [`a${1_000 + index}`, 'xxxxx']),
      ),
    );
  return [
    {
      policy: 'sdewan-size',
      message: 'metadata.annotations: must be at most 32768 characters long in all',
      who: 'tenant',
      denied: {
        'create a rule with an annotation that is larger than any copy of it': create(
          withOne(32_769),
        ),
        'create a rule with many small ones': create(withMany(3_300)),
      },
      allowed: {
        'take the last finalizer from one that is being deleted': patch(ending, {
          metadata: { finalizers: null },
        }),
        'create a rule with 32 KiB of them': create(withOne(32_768)),
        'create a rule with many that are small together': create(withMany(3_200)),
        'create a rule of a kind whose spec can be larger with more of them': create(
          annotated(60_000),
        ),
      },
    },
    {
      policy: 'sdewan-size',
      message: 'metadata: must have at most 128 labels, finalizers and ownerReferences in all',
      who: 'tenant',
      denied: {
        'create a rule with 129 labels': create(
          zone(closed, 'lan2', { labels: { sdewanPurpose: 'cnf-1', ...named(128) } }),
        ),
        'give owners to one that is being deleted': patch(ending, {
          metadata: { ownerReferences: owners },
        }),
        'give it them and take its finalizer': patch(ending, {
          metadata: { ownerReferences: owners, finalizers: null },
        }),
        'give a CNFDeployment as many': patch(['cnfdeployment', ROLLED, '-n', closed], {
          metadata: { labels: named(129) },
        }),
      },
      allowed: {
        'create a rule with 127': create(
          zone(closed, 'lan2', { labels: { sdewanPurpose: 'cnf-1', ...named(126) } }),
        ),
      },
    },
    {
      policy: 'sdewan-size',
      message:
        'metadata: labels, finalizers and ownerReferences must be at most 8192 characters long in all',
      who: 'tenant',
      denied: {
        'create a rule with an owner of any length': create(
          zone(closed, 'lan2', { ownerReferences: [{ ...OWNER, name: 'x'.repeat(8_192) }] }),
        ),
        'give one to a rule that is being deleted': patch(ending, {
          metadata: { ownerReferences: [{ ...OWNER, name: 'x'.repeat(8_192) }] },
        }),
        'create a rule with a hundred long labels': create(
          zone(closed, 'lan2', { labels: { sdewanPurpose: 'cnf-1', ...long(100) } }),
        ),
        'create a rule with many long finalizers': create(
          zone(closed, 'lan2', {
            finalizers: Object.keys(long(120)).map((name) => `example.org/${name}`),
          }),
        ),
      },
      allowed: {
        'create a rule with twenty long labels and an owner': create(
          zone(closed, 'lan2', {
            labels: { sdewanPurpose: 'cnf-1', ...long(20) },
            ownerReferences: [OWNER],
          }),
        ),
      },
    },
  ];
};

const ordered = (namespace: string, order: string): object =>
  zone(namespace, 'lan2', { annotations: { [ORDER_ANNOTATION]: order } });

const deletions = ({ closed }: Places): Case[] => {
  const policy = 'sdewan-deletion';
  const ending = ['firewallzone', 'ending', '-n', closed];
  const held = ['firewallzone', 'held', '-n', closed];
  const annotated = (annotations: object): Attempt => patch(ending, { metadata: { annotations } });
  return [
    {
      policy,
      message: 'spec: cannot be changed while the rule is being deleted',
      who: 'operator',
      denied: { 'change the spec': patch(ending, { spec: { input: 'ACCEPT' } }) },
      allowed: {
        'remove a finalizer of somebody else': patch(ending, { metadata: { finalizers: null } }),
      },
    },
    {
      policy,
      message: 'metadata.labels: cannot be changed while the rule is being deleted',
      who: 'operator',
      denied: {
        'take the purpose from it': relabelled('ending', { sdewanPurpose: null }, closed),
        'put it into a bucket': relabelled('ending', { 'sdewan-bucket-type': 'basic' }, closed),
      },
      allowed: {},
    },
    {
      policy,
      message:
        'metadata.annotations: those of sdewan.akraino.org cannot be changed while the rule is being deleted',
      who: 'operator',
      denied: {
        'give it an order': annotated({ [ORDER_ANNOTATION]: '5' }),
        'take its annotation away': annotated({ 'sdewan.akraino.org/references': null }),
      },
      allowed: { 'annotate it otherwise': annotated({ 'example.org/note': 'x' }) },
    },
    {
      policy,
      message:
        'metadata.finalizers: the coordinator removes sdewan.akraino.org/agents when each agent has confirmed; who removes it before needs the right to verb release on buckettypes.permissions.sdewan.akraino.org',
      who: 'tenant',
      denied: {
        'remove the finalizer of agents': patch(held, { metadata: { finalizers: null } }),
      },
      allowed: { 'delete it once more': remove(...held, '--wait=false') },
    },
  ];
};

const relabelled = (name: string, labels: object, namespace: string): Attempt =>
  patch(['firewallzone', name, '-n', namespace], { metadata: { labels } });

const POLICY_OF_BINDINGS = { policy: 'sdewan-coordinator-bindings', who: 'coordinator' } as const;

const bindings = ({ closed, open }: Places): Case[] => [
  {
    ...POLICY_OF_BINDINGS,
    message: 'the coordinator may write RoleBindings only',
    denied: {
      'create a Role': create(role('Role', 'sdewan-agent', closed)),
      'create a ClusterRole': create(role('ClusterRole', `${OF_THE_TEST}-2`)),
      'change a ClusterRole': patch(['clusterrole', OF_THE_TEST], { rules: [] }),
      'delete a ClusterRole': remove('clusterrole', OF_THE_TEST),
      'bind in the whole cluster': create({
        apiVersion: `${RBAC}/v1`,
        kind: 'ClusterRoleBinding',
        metadata: { name: 'sdewan-agent' },
        roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'sdewan-agent' },
        subjects: [account(closed)],
      }),
    },
    allowed: {},
  },
  {
    ...POLICY_OF_BINDINGS,
    message: 'the coordinator may write no RoleBindings except sdewan-agent and sdewan-agent-keys',
    denied: {
      'create a RoleBinding of another name': create(binding(closed, 'view')),
      'delete a RoleBinding of another name': remove('rolebinding', 'somebody-elses', '-n', closed),
    },
    allowed: {
      'create sdewan-agent': create(binding(open, 'sdewan-agent')),
      'delete sdewan-agent': remove('rolebinding', 'sdewan-agent', '-n', closed),
    },
  },
  {
    ...POLICY_OF_BINDINGS,
    message: 'the coordinator may bind no roles except sdewan-agent and sdewan-agent-keys',
    denied: {
      'bind another ClusterRole': create(
        binding(open, 'sdewan-agent', [account(open)], { name: 'cluster-admin' }),
      ),
      'bind the role of keys by the binding of the other': create(
        binding(open, 'sdewan-agent', [account(open)], { name: 'sdewan-agent-keys' }),
      ),
      'bind a Role of that name': create(
        binding(open, 'sdewan-agent', [account(open)], { kind: 'Role' }),
      ),
    },
    allowed: { 'create sdewan-agent-keys': create(binding(open, 'sdewan-agent-keys')) },
  },
  {
    ...POLICY_OF_BINDINGS,
    message: 'the coordinator may bind service accounts of the same namespace only',
    denied: {
      'bind a service account of another namespace': create(
        binding(open, 'sdewan-agent', [account(closed)]),
      ),
      'bind a user': create(
        binding(open, 'sdewan-agent', [{ apiGroup: RBAC, kind: 'User', name: 'eve' }]),
      ),
      'bind a group': create(
        binding(open, 'sdewan-agent', [{ apiGroup: RBAC, kind: 'Group', name: 'system:masters' }]),
      ),
      'add such a one to a binding': replace(
        binding(closed, 'sdewan-agent', [account(closed), account('kube-system', 'default')]),
      ),
      'apply such a one to a binding': apply(
        binding(closed, 'sdewan-agent', [account(closed), account('kube-system', 'default')]),
      ),
    },
    allowed: {
      'add one of the same namespace': replace(
        binding(closed, 'sdewan-agent', [account(closed), account(closed, 'default')]),
      ),
      'apply one of the same namespace': apply(
        binding(closed, 'sdewan-agent', [account(closed), account(closed, 'default')]),
      ),
    },
  },
  {
    ...POLICY_OF_BINDINGS,
    message:
      'the service account default may not read keys, unless its namespace has the annotation sdewan.akraino.org/default-service-account-reads-keys: "true"',
    denied: {
      'bind keys to service account default': replace(
        binding(closed, 'sdewan-agent-keys', [account(closed, 'default')]),
      ),
    },
    allowed: {
      'bind keys to it where the namespace says so': create(
        binding(open, 'sdewan-agent-keys', [account(open, 'default')]),
      ),
    },
  },
];

const HELD = { finalizers: ['example.org/kept'] };
const POLICY_OF_RULES = { policy: 'sdewan-coordinator-rules', who: 'coordinator' } as const;

const rules = ({ closed }: Places): Case[] => {
  const other = { spec: { dest_ip: '10.0.0.2' } };
  const target = (name: string) => ['firewalldnat', name, '-n', closed];
  // Its kind has room for so many.
  const lan1 = ['firewallzone', 'lan1', '-n', closed];
  const natOf = (name: string) => ['cnfnat', name, '-n', closed];
  const owned = (...ownerReferences: object[]) => ({ metadata: { ownerReferences } });
  const taken = { metadata: { labels: MARK, ownerReferences: [OWNER] } };
  const made = { labels: MARK, ownerReferences: [OWNER] };
  const addresses = (length: number) => ({
    metadata: { annotations: { 'sdewan.akraino.org/pod-addresses': '1'.repeat(length) } },
  });
  return [
    {
      ...POLICY_OF_RULES,
      message: 'the coordinator may create and delete no rules except those with its label',
      denied: {
        'create a rule without its label': create(dnat(closed, 'new')),
        "create a rule with somebody else's label": create(
          dnat(closed, 'new', { 'app.kubernetes.io/managed-by': 'Helm' }),
        ),
        'delete a rule without its label': remove(...target('theirs')),
      },
      allowed: {
        'create a rule with its label': create(dnat(closed, 'new', MARK)),
        'delete a rule with its label': remove(...target('marked')),
      },
    },
    {
      ...POLICY_OF_RULES,
      message: 'the coordinator may change the spec of no rules except those with its label',
      denied: {
        'change the spec of a rule without its label': patch(target('theirs'), other),
        'change it and put its label on it at once': patch(target('theirs'), {
          ...other,
          metadata: { labels: MARK },
        }),
        "change what ICN's controller has made as it takes it over": patch(natOf('nobodynat'), {
          ...taken,
          spec: { src_dip: '10.0.0.2' },
        }),
      },
      allowed: {
        'change the spec of a rule with its label': patch(target('marked'), other),
        "take over what ICN's controller has made from a CR": patch(natOf('nobodynat'), taken),
      },
    },
    {
      ...POLICY_OF_RULES,
      message:
        'the coordinator may change labels and owners of no rules except those with its label',
      denied: {
        'put its label on a rule': patch(target('theirs'), { metadata: { labels: MARK } }),
        'move a rule to another bucket': patch(target('theirs'), {
          metadata: { labels: { 'sdewan-bucket-type': 'basic' } },
        }),
        'give a rule an owner that does not exist': patch(target('theirs'), {
          metadata: { ownerReferences: [OWNER] },
        }),
        "take over a rule of people that has ICN's finalizer": patch(natOf('nobody'), taken),
        'take over one that people have applied': patch(natOf('nobodynat1'), taken),
        'take over one that has a manager': patch(natOf('nobodynat2'), taken),
        "take over one of a kind that ICN's controller makes of none": patch(
          target('nobodynat'),
          taken,
        ),
        'take one over with two owners': patch(natOf('nobodynat'), {
          metadata: { labels: MARK, ownerReferences: [OWNER, { ...OWNER, uid: 'x' }] },
        }),
      },
      allowed: {
        'label a rule with its label': patch(target('marked'), {
          metadata: { labels: { a: 'b' } },
        }),
      },
    },
    {
      ...POLICY_OF_RULES,
      message:
        'the coordinator may give an owner only to what it makes, takes over or has made, where there is none, and only one of the kind that such objects are made of',
      denied: {
        'give one of its own an owner of another kind': patch(
          natOf('marked'),
          owned({ ...OWNER, apiVersion: 'v1', kind: 'ConfigMap' }),
        ),
        'give it one of that kind of another group': patch(
          natOf('marked'),
          owned({ ...OWNER, apiVersion: 'v1' }),
        ),
        'give it two': patch(natOf('marked'), owned(OWNER, { ...OWNER, uid: 'x' })),
        "take over what ICN's controller has made, with an owner of another kind": patch(
          natOf('nobodynat'),
          { metadata: { labels: MARK, ownerReferences: [{ ...OWNER, kind: 'FirewallZone' }] } },
        ),
        'give one an owner that is made of none': patch(target('marked'), owned(OWNER)),
        'make one with an owner that is made of none': create(
          dnat(closed, 'new', MARK, { ownerReferences: [OWNER] }),
        ),
      },
      allowed: {
        'make one with an owner of a kind that makes it': create(nat(closed, 'new', made)),
        'give one of its own the owner that an orphaning deletion took': patch(
          natOf('marked'),
          owned(OWNER),
        ),
      },
    },
    {
      ...POLICY_OF_RULES,
      message:
        'the coordinator may change no annotation except sdewan.akraino.org/pod-addresses of rules without its label',
      denied: {
        'annotate a rule': patch(target('theirs'), { metadata: { annotations: { a: 'b' } } }),
        'take an annotation from a rule': patch(target('theirs'), {
          metadata: { annotations: { 'sdewan.akraino.org/references': null } },
        }),
      },
      allowed: {
        'note the addresses of pods': patch(target('theirs'), {
          metadata: { annotations: { 'sdewan.akraino.org/pod-addresses': '10.0.0.1' } },
        }),
      },
    },
    {
      ...POLICY_OF_RULES,
      message:
        'the coordinator may write no annotation sdewan.akraino.org/pod-addresses of more than 49152 characters',
      denied: {
        "fill a rule's annotations with addresses": patch(lan1, addresses(49_153)),
      },
      allowed: { 'note many addresses': patch(lan1, addresses(49_152)) },
    },
    {
      ...POLICY_OF_RULES,
      message: 'the coordinator may not take its label from a rule',
      denied: {
        'take its label from a rule': patch(target('marked'), {
          metadata: { labels: { 'app.kubernetes.io/managed-by': null } },
        }),
      },
      allowed: {},
    },
    {
      ...POLICY_OF_RULES,
      message:
        "the coordinator may add and remove no finalizers except its own and those of ICN's controller",
      denied: {
        'create a rule with one of its choice': create(dnat(closed, 'new', MARK, HELD)),
        'add a finalizer of its choice': patch(target('theirs'), {
          metadata: { finalizers: ['example.org/kept'] },
        }),
        'remove a finalizer of somebody else': patch(['firewallzone', 'ending', '-n', closed], {
          metadata: { finalizers: null },
        }),
      },
      allowed: {
        'remove the finalizer of agents': patch(target('theirs'), {
          metadata: { finalizers: null },
        }),
      },
    },
    {
      ...POLICY_OF_RULES,
      message: "the coordinator may add no finalizer of ICN's controller",
      denied: {
        'make a rule look as if it could be taken over': patch(target('theirs'), {
          metadata: { finalizers: ['firewalldnat.finalizers.sdewan.akraino.org'] },
        }),
        'create one with it': create(
          dnat(closed, 'new', MARK, { finalizers: ['firewalldnat.finalizers.sdewan.akraino.org'] }),
        ),
      },
      allowed: {
        "remove the one of ICN's controller": patch(natOf('nobodynat'), {
          metadata: { finalizers: null },
        }),
      },
    },
  ];
};

const POLICY_OF_OBJECTS = { policy: 'sdewan-coordinator-objects', who: 'coordinator' } as const;

const event = (namespace: string, metadata: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: OF_THE_TEST, namespace, ...metadata },
  involvedObject: { kind: 'Pod', namespace, name: 'x' },
  reason: 'Test',
});

const objects = ({ closed, open }: Places): Case[] => [
  {
    ...POLICY_OF_OBJECTS,
    message: 'the coordinator may write no ConfigMaps except sdewan-coordinator-ca',
    denied: {
      'create a ConfigMap of another name': create(configMap(open, 'mine', CA)),
      'change a ConfigMap of another name': replace(configMap(closed, 'somebody-elses', CA)),
      'delete a ConfigMap of another name': remove('configmap', 'somebody-elses', '-n', closed),
    },
    allowed: {
      'create sdewan-coordinator-ca': create(configMap(open, 'sdewan-coordinator-ca', CA)),
      'delete sdewan-coordinator-ca': remove('configmap', 'sdewan-coordinator-ca', '-n', closed),
    },
  },
  {
    ...POLICY_OF_OBJECTS,
    message: "the coordinator's ConfigMaps may contain ca.crt only",
    denied: {
      'put another file into it': create(
        configMap(open, 'sdewan-coordinator-ca', { data: { 'ca.crt': 'x', 'run.sh': 'x' } }),
      ),
      'put bytes into it': create(
        configMap(open, 'sdewan-coordinator-ca', { ...CA, binaryData: { 'run.sh': 'eA==' } }),
      ),
      'put nothing into it': create(configMap(open, 'sdewan-coordinator-ca', {})),
      'put another file into the one that is there': replace(
        configMap(closed, 'sdewan-coordinator-ca', { data: { 'run.sh': 'x' } }),
      ),
    },
    allowed: {
      'renew the CA': replace(configMap(closed, 'sdewan-coordinator-ca', CA)),
      'apply another CA': apply(configMap(closed, 'sdewan-coordinator-ca', CA)),
    },
  },
  {
    ...POLICY_OF_OBJECTS,
    message:
      'the coordinator may write no Secrets except sdewan-coordinator-tls, of type Opaque, in its own namespace',
    denied: {
      'create a Secret of another name': create(secret(SYSTEM, 'mine')),
      'create a Secret elsewhere': create(secret(open, 'sdewan-coordinator-tls')),
      'create a Secret of another type': create(
        secret(SYSTEM, 'sdewan-coordinator-tls', 'example.org/other'),
      ),
      'delete its own Secret': remove('secret', 'sdewan-coordinator-tls', '-n', SYSTEM),
    },
    allowed: {
      'change its own Secret': patch(['secret', 'sdewan-coordinator-tls', '-n', SYSTEM], {
        metadata: { annotations: { a: 'b' } },
      }),
    },
  },
  {
    ...POLICY_OF_OBJECTS,
    message: 'the coordinator may write no Leases except sdewan-coordinator',
    denied: { 'create another Lease': create(lease('another')) },
    allowed: {
      'renew its own': patch(['lease', 'sdewan-coordinator', '-n', SYSTEM], { spec: {} }),
    },
  },
  {
    ...POLICY_OF_OBJECTS,
    message: 'the coordinator may make no ConfigMap and no Secret immutable',
    denied: {
      'keep a CA for good': apply({
        ...configMap(closed, 'sdewan-coordinator-ca', CA),
        immutable: true,
      }),
      'keep its own Secret for good': patch(['secret', 'sdewan-coordinator-tls', '-n', SYSTEM], {
        immutable: true,
      }),
    },
    allowed: {},
  },
  {
    ...POLICY_OF_OBJECTS,
    message:
      'the coordinator may not change finalizers and owners of ConfigMaps, Secrets, Leases, RoleBindings and Events',
    denied: {
      'create a ConfigMap that nobody can delete': create(
        withMetadata(configMap(open, 'sdewan-coordinator-ca', CA), HELD),
      ),
      'give one a finalizer': apply(
        withMetadata(configMap(closed, 'sdewan-coordinator-ca', CA), HELD),
      ),
      'create one that holds up the deletion of something else': create(
        withMetadata(configMap(open, 'sdewan-coordinator-ca', CA), { ownerReferences: [OWNER] }),
      ),
      'create a RoleBinding that nobody can delete': create(
        withMetadata(binding(open, 'sdewan-agent'), HELD),
      ),
      'create an Event that nobody can delete': create(event(open, HELD)),
      'give its Lease a finalizer': patch(['lease', 'sdewan-coordinator', '-n', SYSTEM], {
        metadata: HELD,
      }),
    },
    allowed: { 'create an Event': create(event(open)) },
  },
];

const programs = ({ closed }: Places): Case[] => {
  const host = (name: string, updown: object): object =>
    withMetadata(
      rule('IpsecHost', name, {
        remote: '192.0.2.1',
        authentication_method: 'psk',
        pre_shared_key: 'key',
        crypto_proposal: ['p'],
        connections: [{ name, conn_type: 'tunnel', mode: 'add', ...updown }],
      }),
      {
        namespace: closed,
        labels: { sdewanPurpose: 'cnf-1' },
        annotations: { 'sdewan.akraino.org/references': 'off' },
      },
    );
  return [
    {
      policy: 'sdewan-programs',
      message:
        'spec.connections: local_updown and remote_updown must be one of /etc/updown, /etc/updown_oip; ValidatingAdmissionPolicy sdewan-programs lists them',
      who: 'operator',
      denied: {
        'have a shell run': create(host('a', { local_updown: '/bin/sh' })),
        'have a program run with arguments': create(host('a', { remote_updown: '/etc/updown -x' })),
        'have one of two programs run': create(
          host('a', { local_updown: '/etc/updown', remote_updown: '/usr/bin/wget' }),
        ),
      },
      allowed: {
        'have a program run that is listed': create(host('a', { local_updown: '/etc/updown_oip' })),
        'create a connection that runs none': create(host('a', { remote_updown: '' })),
      },
    },
  ];
};

const buckets = ({ closed }: Places): Case[] => {
  const inBucket = (name: string): object =>
    zone(closed, name, { labels: { sdewanPurpose: 'cnf-1', 'sdewan-bucket-type': 'basic' } });
  return [
    {
      policy: 'sdewan-buckets',
      message:
        'bucket type basic: needs verb use on buckettypes.permissions.sdewan.akraino.org, or on its subresource firewallzones, in a role whose annotation sdewan-bucket-type-permission lists the type, too',
      who: 'tenant',
      denied: {
        'create a rule of a bucket': create(inBucket('lan2')),
        'put a rule into a bucket': relabelled('lan1', { 'sdewan-bucket-type': 'basic' }, closed),
        'take a rule from a bucket': relabelled('basic', { 'sdewan-bucket-type': null }, closed),
        'delete a rule of a bucket': remove('firewallzone', 'basic', '-n', closed),
      },
      allowed: { 'create a rule of none': create(zone(closed, 'lan2')) },
    },
  ];
};

const POLICY_OF_WEBHOOKS = { policy: 'sdewan-coordinator-webhooks', who: 'coordinator' } as const;

const PATH = '/webhooks/0/clientConfig/service/path';
const TOKEN = '0123456789abcdef'.repeat(2);
/** The name of the first webhook of each. */
const pathOf = (of: string): string =>
  `/admission/${of.startsWith('mutating') ? 'pods' : 'rules'}/${TOKEN}`;

const webhooks = (): Case[] => {
  const kinds = ['validatingwebhookconfiguration', 'mutatingwebhookconfiguration'] as const;
  const onEach = (attempts: (of: string) => Attempts): Attempts =>
    Object.fromEntries(
      kinds.flatMap((of) =>
        Object.entries(attempts(of)).map(([what, one]) => [`${what} (${of})`, one]),
      ),
    );
  const ours = (of: string, path: string, value: unknown, op = 'add'): Attempt =>
    patch([of, COORDINATOR], [{ op, path, value }]);
  return [
    {
      ...POLICY_OF_WEBHOOKS,
      message: 'the coordinator may create and delete no webhook configurations',
      denied: onEach((of) => ({ 'delete its webhooks': remove(of, COORDINATOR) })),
      allowed: {},
    },
    {
      ...POLICY_OF_WEBHOOKS,
      message:
        'the coordinator may change nothing of webhook configurations except each caBundle and path',
      denied: onEach((of) => ({
        'give its webhooks an owner that does not exist': ours(of, '/metadata/ownerReferences', [
          OWNER,
        ]),
        'annotate its webhooks': ours(of, '/metadata/annotations', { a: 'b' }),
      })),
      allowed: {},
    },
    {
      ...POLICY_OF_WEBHOOKS,
      message:
        'the coordinator may change nothing of a webhook except its caBundle and the end of its path',
      denied: onEach((of) => ({
        'read all Secrets by a webhook': ours(of, '/webhooks/0/rules/0', {
          apiGroups: [''],
          apiVersions: ['v1'],
          resources: ['secrets'],
          operations: ['*'],
        }),
        'send requests elsewhere': ours(of, '/webhooks/0/clientConfig/service/namespace', 'eve'),
        'send requests to another path': ours(of, PATH, '/'),
        'send requests to the path of another webhook': ours(
          of,
          PATH,
          `/admission/rule-finalizers-and-more/${TOKEN}`,
        ),
        'send requests to a path with more behind it': ours(of, PATH, `${pathOf(of)}/more`),
        'send requests to a path that anybody could guess': ours(
          of,
          PATH,
          pathOf(of).slice(0, -32),
        ),
        'send requests to another server': ours(of, '/webhooks/0/clientConfig', {
          url: `https://127.0.0.1:1${pathOf(of)}`,
          caBundle: 'LS0t',
        }),
        'send requests to another port': ours(of, '/webhooks/0/clientConfig/service/port', 1),
        'be asked about no namespace': ours(of, '/webhooks/0/namespaceSelector', {
          matchLabels: { a: 'b' },
        }),
        'be asked about no object': ours(of, '/webhooks/0/objectSelector', {
          matchLabels: { a: 'b' },
        }),
        'be asked on no condition': ours(of, '/webhooks/0/matchConditions', [
          { name: 'never', expression: 'false' },
        ]),
        'fail open': ours(of, '/webhooks/1/failurePolicy', 'Ignore'),
        'fail closed': ours(of, '/webhooks/2/failurePolicy', 'Fail'),
        'take longer': ours(of, '/webhooks/0/timeoutSeconds', 30),
        'remove a webhook': ours(of, '/webhooks/0', undefined, 'remove'),
      })),
      allowed: onEach((of) => ({
        'renew the CA': ours(of, '/webhooks/0/clientConfig/caBundle', 'LS0t'),
        'renew the end of a path': ours(of, PATH, pathOf(of)),
      })),
    },
  ];
};

const retries = ({ closed }: Places): Case[] => {
  const change = (name: string, body: object): Attempt =>
    patch(['daemonset', name, '-n', closed], body);
  const annotated = (annotations: object) => ({ metadata: { annotations } });
  const retried = annotated({ [RETRIED_AT_ANNOTATION]: 'now' });
  const common = { policy: 'sdewan-coordinator-retries', who: 'coordinator' } as const;
  return [
    {
      ...common,
      message:
        'the coordinator may change only the annotation sdewan.akraino.org/retried-at of the owners of pods',
      denied: {
        'change the spec of a DaemonSet': change('cnf', { spec: { minReadySeconds: 5 } }),
        'change its labels': change('cnf', { metadata: { labels: { more: 'x' } } }),
        'give it a finalizer': change('cnf', { metadata: { finalizers: ['example.org/a'] } }),
        'give it another annotation': change('cnf', annotated({ more: 'x' })),
        'change an annotation of it': change('cnf', annotated({ theirs: 'y' })),
        'take an annotation from it': change('cnf', annotated({ theirs: null })),
        'delete it': remove('daemonset', 'cnf', '-n', closed),
      },
      allowed: { 'make the DaemonSet of a CNF try again': change('cnf', retried) },
    },
    {
      ...common,
      message:
        'the coordinator may change only the owners of CNF pods, by their label sdewanPurpose',
      denied: { 'make a DaemonSet of no CNF try again': change('another', retried) },
      allowed: {
        'take the annotation back': change('cnf', annotated({ [RETRIED_AT_ANNOTATION]: null })),
      },
    },
    {
      ...common,
      message:
        'the coordinator may write no annotation sdewan.akraino.org/retried-at of more than 64 characters',
      denied: {
        'fill its annotations': change(
          'cnf',
          annotated({ [RETRIED_AT_ANNOTATION]: 'x'.repeat(65) }),
        ),
      },
      allowed: {},
    },
  ];
};

/** One that is not there. */
const REPLICA_SET = { ...OWNER, apiVersion: 'apps/v1', kind: 'ReplicaSet' };

/** Each has 126 characters. */
const labelsOf = (count: number): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`l${at}`.padEnd(63, 'x'), 'x'.repeat(63)]),
  );

const pods = ({ closed }: Places): Case[] => {
  const common = { policy: 'sdewan-pods', who: 'tenant' } as const;
  const annotations = { 'sdewan.akraino.org/inject': 'false' };
  const owned = (owner: object) => ({
    ownerReferences: [{ ...REPLICA_SET, controller: true, ...owner }],
  });
  const serving = (purpose: string) => {
    const env = [{ name: 'SDEWAN_PURPOSE', value: purpose }];
    return { initContainers: [{ name: 'sdewan-agent', image: 'none', env }] };
  };
  const change = (metadata: object): Attempt => patch(['pod', SILENT, '-n', closed], { metadata });
  const ofStatus = (status: object): Attempt =>
    patch(['pod', SILENT, '-n', closed, '--subresource=status'], { status });
  return [
    {
      ...common,
      message:
        "metadata.ownerReferences: only its controller may make an object the owner of a CNF's pod, who may update the status or finalizers of " +
        'replicasets.apps',
      denied: {
        'create a pod with an owner that did not make it': create(
          barePod(closed, 'bare', { annotations, ...owned({}) }),
        ),
        'give a pod an owner': change(owned({})),
      },
      allowed: {
        'create a pod with an owner that does not control it': create(
          barePod(closed, 'bare', { annotations, ...owned({ controller: false }) }),
        ),
      },
    },
    {
      ...common,
      message:
        'metadata.labels: sdewanPurpose must be the purpose that the agent in the pod serves, its SDEWAN_PURPOSE',
      denied: {
        'create a pod with an agent of another purpose': create(
          barePod(closed, 'bare', { annotations, spec: serving('cnf-1') }),
        ),
        'create a pod with an agent and without a purpose': create(
          barePod(closed, 'bare', { labels: {}, spec: serving('cnf-1') }),
        ),
      },
      allowed: {
        'create a pod with an agent': create(
          barePod(closed, 'bare', { annotations, spec: serving('bare') }),
        ),
      },
    },
    {
      ...common,
      message:
        'metadata.labels: sdewanPurpose cannot be given to a pod that is there, except that of its agent: it belongs into the pod template',
      denied: {
        'give a pod another purpose': change({ labels: { sdewanPurpose: 'cnf-1' } }),
        'give it one with its status': patch(
          ['pod', SILENT, '-n', closed, '--subresource=status'],
          {
            metadata: { labels: { sdewanPurpose: 'cnf-1' } },
          },
        ),
        'give it one with its binding to a node': bound(closed, {
          labels: { sdewanPurpose: 'cnf-1' },
        }),
      },
      allowed: { 'take the purpose from a pod': change({ labels: { sdewanPurpose: null } }) },
    },
    {
      policy: 'sdewan-pod-addresses',
      message:
        'status.podIPs: nodes alone write the addresses of pods; who runs virtual kubelets that are none needs the right to verb assign on podaddresses.permissions.sdewan.akraino.org in all namespaces',
      who: 'tenant',
      denied: {
        'have a pod claim the address of another': ofStatus({
          podIP: '10.9.9.9',
          podIPs: [{ ip: '10.9.9.9' }],
        }),
      },
      allowed: { 'write what else is in its status': ofStatus({ message: 'x' }) },
    },
    {
      policy: 'sdewan-pod-labels',
      message: 'metadata.labels: must be at most 8192 characters long in all',
      who: 'tenant',
      denied: {
        'create a pod full of labels': create(
          barePod(closed, 'bare', { annotations, labels: labelsOf(70) }),
        ),
        'fill a pod with labels': change({ labels: labelsOf(70) }),
        'fill it with its status': patch(['pod', SILENT, '-n', closed, '--subresource=status'], {
          metadata: { labels: labelsOf(70) },
        }),
        'fill it with its binding to a node': bound(closed, { labels: labelsOf(70) }),
      },
      allowed: { 'give a pod many labels': change({ labels: labelsOf(60) }) },
    },
  ];
};

const deployments = ({ closed }: Places): Case[] => {
  const common = { policy: 'sdewan-coordinator-deployments', who: 'coordinator' } as const;
  const change = (name: string, body: object, ...more: string[]): Attempt =>
    patch(['deployment', name, '-n', closed, ...more], body);
  const owner = (name: string) => ({
    ...OWNER,
    apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
    kind: 'CNFDeployment',
    name,
    controller: true,
  });
  const made = (metadata: object): object => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'made', namespace: closed, ...metadata },
    spec: {
      selector: { matchLabels: { app: 'made' } },
      template: {
        metadata: { labels: { app: 'made' } },
        spec: { containers: [{ name: 'openwrt', image: 'none' }] },
      },
    },
  });
  return [
    {
      ...common,
      message: 'the coordinator may delete and scale no Deployments, and write no status of them',
      denied: {
        'delete a Deployment of a CNFDeployment': remove('deployment', ROLLED, '-n', closed),
        'scale it by its subresource': change(
          ROLLED,
          { spec: { replicas: 1 } },
          '--subresource=scale',
        ),
      },
      allowed: {},
    },
    {
      ...common,
      message:
        'the coordinator may write no Deployments except those that a CNFDeployment of their name controls',
      denied: {
        'create a Deployment of nobody': create(made({})),
        'create one for a CNFDeployment of another name': create(
          made({ ownerReferences: [owner('another')] }),
        ),
        'create one of which a CNFDeployment is no controller': create(
          made({ ownerReferences: [{ ...owner('made'), controller: false }] }),
        ),
        'create one that a kind of its own controls': create(
          made({ ownerReferences: [{ ...owner('made'), apiVersion: 'example.org/v1' }] }),
        ),
        'change a Deployment of others': change('cnf', { spec: { minReadySeconds: 5 } }),
        'give away a Deployment': change(ROLLED, { metadata: { ownerReferences: null } }),
      },
      allowed: {
        'create a Deployment that a CNFDeployment of its name controls': create(
          made({ ownerReferences: [owner('made')] }),
        ),
      },
    },
    {
      ...common,
      message: 'the coordinator may not take over Deployments that no CNFDeployment controls',
      denied: {
        'take over a Deployment': change('cnf', { metadata: { ownerReferences: [owner('cnf')] } }),
      },
      allowed: {
        'change a Deployment of a CNFDeployment': change(ROLLED, { spec: { minReadySeconds: 5 } }),
      },
    },
  ];
};

const rolledPods = ({ closed }: Places): Case[] => {
  const common = { policy: 'sdewan-coordinator-pods', who: 'coordinator' } as const;
  const change = (body: object, name: string = SILENT): Attempt =>
    patch(['pod', name, '-n', closed], body);
  const ofStatus = (status: object): Attempt =>
    patch(['pod', SILENT, '-n', closed, '--subresource=status'], { status });
  const condition = (type: string): Attempt => ofStatus({ conditions: [{ type, status: 'True' }] });
  const annotate = (annotations: object, name?: string): Attempt =>
    change({ metadata: { annotations } }, name);
  const active = { metadata: { labels: { 'sdewan.akraino.org/active': 'true' } } };
  const image = [{ op: 'replace', path: '/spec/containers/0/image', value: 'another' }];
  return [
    {
      ...common,
      message:
        'the coordinator may make no pods, and delete those of CNFs only, by their label sdewanPurpose',
      denied: {
        'make a pod': create(barePod(closed, 'bare', { labels: {} })),
        'delete a pod of no CNF': remove('pod', STRANGER, '-n', closed),
      },
      allowed: {},
    },
    {
      ...common,
      message:
        'the coordinator may delete no pods except those in whose place a ReplicaSet makes others',
      denied: {
        'delete a pod of a CNF that nobody makes anew': remove('pod', SILENT, '-n', closed),
      },
      allowed: {},
    },
    {
      ...common,
      message:
        'the coordinator may write nothing but annotations of pods of no CNF, by their label sdewanPurpose',
      denied: { 'activate a pod of no CNF': change(active, STRANGER) },
      allowed: { 'activate a pod of a CNF': change(active) },
    },
    {
      ...common,
      message: 'the coordinator may not change spec, owners and finalizers of pods',
      denied: {
        'end a pod at a time': change({ spec: { activeDeadlineSeconds: 60 } }),
        'give a pod another image': change(image),
        'hold a pod up': change({ metadata: { finalizers: ['example.org/a'] } }),
        'give a pod an owner that does not control it': change({
          metadata: { ownerReferences: [OWNER] },
        }),
      },
      allowed: {
        'take the label from a pod': change({
          metadata: { labels: { 'sdewan.akraino.org/active': null } },
        }),
      },
    },
    {
      ...common,
      message:
        'the coordinator may change nothing of the spec of a pod when it opens the gate of its addresses',
      denied: {
        'end a pod at a time, as it opens its gate': change(
          { spec: { schedulingGates: null, activeDeadlineSeconds: 60 } },
          WAITING,
        ),
        'narrow where a pod runs, as it opens its gate': change(
          { spec: { schedulingGates: null, nodeSelector: { none: 'x' } } },
          WAITING,
        ),
      },
      allowed: {
        'open the gate of a pod, and write its addresses': change(
          {
            metadata: { annotations: { 'k8s.plugin.opnfv.org/nfn-network': '{"interface":[]}' } },
            spec: { schedulingGates: null },
          },
          WAITING,
        ),
      },
    },
    {
      ...common,
      message: 'the coordinator may change no label of pods except sdewan.akraino.org/active',
      denied: {
        'give a pod a label': change({ metadata: { labels: { more: 'x' } } }),
        'take the purpose from a pod': change({ metadata: { labels: { sdewanPurpose: null } } }),
      },
      allowed: {},
    },
    {
      ...common,
      message:
        'the coordinator may change no annotation of pods except those that say what it has done',
      denied: {
        'annotate a pod': annotate({ more: 'x' }),
        'say how late a scale-down takes a pod of no CNF': annotate(
          { 'controller.kubernetes.io/pod-deletion-cost': '-1' },
          STRANGER,
        ),
        'give a pod of no CNF a port': annotate({ 'sdewan.akraino.org/ports': '[]' }, STRANGER),
        'write the networks of a pod and leave its gate': annotate(
          { 'k8s.plugin.opnfv.org/nfn-network': '{"interface":[]}' },
          WAITING,
        ),
      },
      allowed: {
        'say which groups a pod of no CNF has': annotate(
          { 'sdewan.akraino.org/policy-groups': '[]' },
          STRANGER,
        ),
        'say how late a scale-down takes a pod': annotate({
          'controller.kubernetes.io/pod-deletion-cost': '-1',
        }),
        'say it no more': annotate({ 'sdewan.akraino.org/policy-groups': null }, STRANGER),
      },
    },
    {
      ...common,
      message: 'the coordinator may write no annotation of pods of more than 65536 characters',
      denied: {
        "fill a pod's annotations": annotate(
          { 'sdewan.akraino.org/policy-groups': 'x'.repeat(65_537) },
          STRANGER,
        ),
      },
      allowed: {},
    },
    {
      ...common,
      message:
        'the coordinator may write no condition of pods except the one that hands the traffic over',
      denied: { 'forge a pod that is ready': condition('Ready') },
      allowed: { 'hand the traffic over to a pod': condition(HANDED_OVER_GATE) },
    },
    {
      ...common,
      message: 'the coordinator may write nothing of the status of pods except conditions',
      denied: {
        'forge the phase of a pod': ofStatus({ phase: 'Failed' }),
        'forge the address of a pod': ofStatus({ podIP: '10.9.9.9', podIPs: [{ ip: '10.9.9.9' }] }),
        'forge which generation of it the kubelet has': ofStatus({ observedGeneration: 99 }),
        'forge what runs in a pod': ofStatus({
          containerStatuses: [
            { name: 'openwrt', image: 'none', imageID: '', ready: true, restartCount: 0 },
          ],
        }),
      },
      allowed: {},
    },
  ];
};

const NETWORK_VERSION = 'network.sdewan.akraino.org/v1alpha1';

const enforcements = ({ closed }: Places): Case[] => {
  const object = (kind: string, spec: object): object => ({
    apiVersion: NETWORK_VERSION,
    kind,
    metadata: { name: 'forged', namespace: closed, labels: { sdewanPurpose: 'cnf-1', ...MARK } },
    spec,
  });
  const group = '0'.repeat(16);
  const policy = { namespace: 'apps', name: 'web', uid: 'uid', generation: 1 };
  const made = {
    'create an AddressGroup': create(
      object('AddressGroup', { group, slice: 0, members: ['10.0.0.1'] }),
    ),
    'create a PolicyEnforcement': create(
      object('PolicyEnforcement', {
        policy,
        place: 'cluster',
        pods: group,
        isolates: [],
        lines: [],
        exceptions: [],
      }),
    ),
  };
  return [
    {
      policy: 'sdewan-enforcements',
      message: 'the coordinator alone writes ',
      who: 'operator',
      denied: made,
      allowed: {},
    },
  ];
};

const networkPorts = (): Case[] => {
  const forged = {
    apiVersion: NETWORK_VERSION,
    kind: 'NetworkPort',
    metadata: { name: `${NETWORK}-11`, labels: MARK },
    spec: {
      network: NETWORK,
      index: 11,
      mac: '02:00:00:00:00:01',
      addresses: ['10.254.0.11'],
      claim: { namespace: 'x', pod: 'x', uid: 'x', interface: 'x' },
      managed: true,
    },
  };
  return [
    {
      policy: 'sdewan-network-ports',
      message: 'the coordinator alone writes NetworkPorts: its addresses are those of pod ',
      who: 'operator',
      denied: {
        'take an address': create(forged),
        'take that of a pod': patch(['networkport', PORT], { spec: { claim: { uid: 'x' } } }),
      },
      allowed: {
        'annotate a NetworkPort': patch(['networkport', PORT], {
          metadata: { annotations: { a: 'x' } },
        }),
      },
    },
    {
      policy: 'sdewan-network-ports',
      message: 'pod ',
      who: 'tenant',
      denied: { 'give back the address of a pod': remove('networkport', PORT) },
      allowed: {},
    },
    {
      policy: 'sdewan-managed-networks',
      message: '1 addresses of network ',
      who: 'tenant',
      denied: {
        'delete a network while pods have addresses of it': remove('managednetwork', NETWORK),
      },
      allowed: {},
    },
  ];
};

const fleetObjects = ({ closed }: Places): Case[] => {
  const made = (kind: string, spec: object): object => ({
    apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
    kind,
    metadata: { name: 'forged', namespace: closed, labels: { sdewanPurpose: 'cnf-1', ...MARK } },
    spec: { deployment: 'cnf-1', templateHash: 'hash', ...spec },
  });
  const annotate = (annotations: Record<string, string>): Attempt =>
    patch(['cnf', SILENT, '-n', closed], { metadata: { annotations } });
  return [
    {
      policy: 'sdewan-fleet-objects',
      message: 'the coordinator alone writes cnf',
      who: 'operator',
      denied: {
        'create a CNFSet': create(made('CNFSet', { revision: 1 })),
        'create a CNF': create(made('CNF', {})),
      },
      allowed: {},
    },
    {
      policy: 'sdewan-fleet-objects',
      message: 'admission alone writes who asks for fleet.sdewan.akraino.org/roll-set',
      who: 'operator',
      denied: {
        'ask in the name of another': annotate({ [`${RESTART_ANNOTATION}-asked`]: 'id-1 alice' }),
      },
      allowed: { 'ask for a restart': annotate({ [RESTART_ANNOTATION]: 'firewall' }) },
    },
    {
      policy: 'sdewan-fleet-objects',
      message: `${RESTART_ANNOTATION}: of a CNF, one of firewall`,
      who: 'operator',
      denied: { 'have any service restarted': annotate({ [RESTART_ANNOTATION]: 'network' }) },
      allowed: {},
    },
  ];
};

const statuses = ({ closed }: Places): Case[] => {
  const zoneOf = ['firewallzone', 'lan1', '-n', closed];
  const rolled = ['cnfdeployment', ROLLED, '-n', closed];
  const ofStatus = (target: readonly string[], status: object): Attempt =>
    patch([...target, '--subresource=status'], { status });
  return [
    {
      policy: 'sdewan-statuses',
      message:
        'status: the coordinator alone writes it, from what agents report; who repairs one needs the right to verb release on buckettypes.permissions.sdewan.akraino.org',
      who: 'tenant',
      denied: {
        'call a rule in force': ofStatus(zoneOf, { inSync: true }),
        'call a roll-out done': ofStatus(rolled, { readyReplicas: 3 }),
        'have pods that start leave a rule out': ofStatus(zoneOf, {
          lostConnectivity: { purpose: 'cnf-1', revision: 'x', message: 'x' },
        }),
        'call a CNF well': ofStatus(['cnfstatus', 'well', '-n', closed], {
          pods: { up: 9, total: 9, summary: '9/9' },
        }),
        'let a deleted rule go under the name of its status': patch(
          ['firewallzone', 'held', '-n', closed, '--subresource=status'],
          { metadata: { finalizers: null } },
        ),
      },
      allowed: {
        'change the spec of the rule': patch(zoneOf, { spec: { input: 'ACCEPT' } }),
        'scale a CNFDeployment': patch([...rolled, '--subresource=scale'], {
          spec: { replicas: 1 },
        }),
      },
    },
  ];
};

const policyNetworks = ({ closed }: Places): Case[] => {
  const annotations = { 'sdewan.akraino.org/policy-networks': 'cluster' };
  const inject = { 'sdewan.akraino.org/inject': 'false' };
  const labels = { sdewanPurpose: 'asks' };
  const template = (asking: object) => ({
    metadata: { labels, annotations: asking },
    spec: { serviceAccountName: 'cnf', containers: [{ name: 'openwrt', image: 'none' }] },
  });
  const workload = (kind: string, asking: object, metadata: object = {}): Attempt =>
    create({
      apiVersion: 'apps/v1',
      kind,
      metadata: { name: 'asks', namespace: closed, labels, ...metadata },
      spec: {
        ...(kind !== 'DaemonSet' && { replicas: 0 }),
        ...(kind === 'StatefulSet' && { serviceName: 'asks' }),
        selector: { matchLabels: labels },
        template: template(asking),
      },
    });
  const revisionOf = (data: object): Attempt =>
    create({
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: { name: 'asks', namespace: closed },
      revision: 9,
      data,
    });
  const revision = (asking: object): Attempt =>
    revisionOf({ spec: { template: template(asking) } });
  const { spec } = template(annotations);
  const jobTemplate = {
    spec: { template: { ...template(annotations), spec: { ...spec, restartPolicy: 'Never' } } },
  };
  const asked = { spec: { template: { metadata: { annotations } } } };
  const pod = (asking: object): Attempt =>
    create(barePod(closed, 'bare', { annotations: { ...inject, ...asking } }));
  return [
    {
      policy: 'sdewan-policy-networks',
      message:
        'annotation sdewan.akraino.org/policy-networks: a CNF that enforces NetworkPolicies is shown addresses of pods of all namespaces, so who makes one needs the right to verb use on policynetworks.permissions.sdewan.akraino.org',
      who: 'tenant',
      denied: {
        'create a Deployment that enforces policies': workload('Deployment', annotations),
        'create a ReplicaSet that does': workload('ReplicaSet', annotations),
        'create a ReplicaSet with the owner of another that does': workload(
          'ReplicaSet',
          annotations,
          { ownerReferences: [{ ...REPLICA_SET, kind: 'Deployment', controller: true }] },
        ),
        'create a StatefulSet that does': workload('StatefulSet', annotations),
        'create a DaemonSet that does': workload('DaemonSet', annotations),
        'create a Job that does': create({
          apiVersion: 'batch/v1',
          kind: 'Job',
          metadata: { name: 'asks', namespace: closed },
          spec: jobTemplate.spec,
        }),
        'create a ReplicationController that does': create({
          apiVersion: 'v1',
          kind: 'ReplicationController',
          metadata: { name: 'asks', namespace: closed },
          spec: { replicas: 0, selector: labels, template: template(annotations) },
        }),
        'create a CronJob that does': create({
          apiVersion: 'batch/v1',
          kind: 'CronJob',
          metadata: { name: 'asks', namespace: closed },
          spec: { schedule: '* * * * *', jobTemplate },
        }),
        'create a ControllerRevision, of which a StatefulSet makes pods that do':
          revision(annotations),
        // The controller of StatefulSets reads names of fields without regard to case.
        'create a ControllerRevision with a Spec': revisionOf({
          Spec: { template: template(annotations) },
        }),
        'create a ControllerRevision with a Template': revisionOf({
          spec: { Template: template(annotations) },
        }),
        'create a ControllerRevision with Metadata': revisionOf({
          spec: { template: { Metadata: { annotations } } },
        }),
        'create a ControllerRevision with Annotations': revisionOf({
          spec: { template: { metadata: { Annotations: annotations } } },
        }),
        'create a ControllerRevision with annotations by a long s': revisionOf({
          spec: { template: { metadata: { 'annotation\u017f': annotations } } },
        }),
        'create a pod that does': pod(annotations),
        'have a Deployment that is there do so': patch(['deployment', 'cnf', '-n', closed], asked),
        'have a CNFDeployment do so': patch(['cnfdeployment', ROLLED, '-n', closed], asked),
        'have a pod that is there do so': patch(['pod', SILENT, '-n', closed], {
          metadata: { annotations },
        }),
        'have it do so with its status': patch(
          ['pod', SILENT, '-n', closed, '--subresource=status'],
          { metadata: { annotations } },
        ),
        'have it do so with its binding to a node': bound(closed, { annotations }),
      },
      allowed: {
        'create a Deployment that does not': workload('Deployment', {}),
        'create a ControllerRevision that does not': revision({}),
        'create a pod that does not': pod({}),
      },
    },
  ];
};

export const casesOf = (places: Places): Case[] => [
  ...purposes(places),
  ...sizes(places),
  ...deletions(places),
  ...programs(places),
  ...buckets(places),
  ...bindings(places),
  ...rules(places),
  ...objects(places),
  ...webhooks(),
  ...retries(places),
  ...pods(places),
  ...deployments(places),
  ...rolledPods(places),
  ...enforcements(places),
  ...networkPorts(),
  ...fleetObjects(places),
  ...statuses(places),
  ...policyNetworks(places),
];
