/**
 * What the installed policies deny, and what stands right beside it and is allowed: a case for each validation, in their order. The
 * message is the one that kubectl shows; `denied` and `allowed` are what `who` tries.
 */
import { ORDER_ANNOTATION } from '#shared/names.ts';
import { rule } from '../stack/rules.ts';
import {
  account,
  apply,
  binding,
  CA,
  configMap,
  create,
  dnat,
  MARK,
  OF_THE_TEST,
  patch,
  RBAC,
  remove,
  replace,
  role,
  secret,
  SYSTEM,
  withMetadata,
  zone,
  type Attempt,
  type Places,
} from './policy-objects.ts';

type Attempts = Readonly<Record<string, Attempt>>;
export type Case = {
  policy: string;
  message: string;
  who: 'coordinator' | 'operator';
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
      'change a rule that is being deleted': relabelled('ending', { sdewanPurpose: null }, closed),
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

const ordered = (namespace: string, order: string): object =>
  zone(namespace, 'lan2', { annotations: { [ORDER_ANNOTATION]: order } });

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

const POLICY_OF_RULES = { policy: 'sdewan-coordinator-rules', who: 'coordinator' } as const;

const rules = ({ closed }: Places): Case[] => {
  const other = { spec: { dest_ip: '10.0.0.2' } };
  const target = (name: string) => ['firewalldnat', name, '-n', closed];
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
      denied: { 'change the spec of a rule without its label': patch(target('theirs'), other) },
      allowed: {
        'change the spec of a rule with its label': patch(target('marked'), other),
        'change the metadata of a rule without its label': patch(target('theirs'), {
          metadata: { annotations: { a: 'b' } },
        }),
      },
    },
  ];
};

const POLICY_OF_OBJECTS = { policy: 'sdewan-coordinator-objects', who: 'coordinator' } as const;

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
];

export const casesOf = (places: Places): Case[] => [
  ...purposes(places),
  ...bindings(places),
  ...rules(places),
  ...objects(places),
];
