/**
 * Every name that both programs, manifests and operators share: labels, annotations, finalizers,
 * audiences. Names without the `sdewan.akraino.org/` prefix are ICN's or another project's, kept
 * for compatibility.
 */

export const RULE_GROUP = 'batch.sdewan.akraino.org';
export const RULE_VERSION = 'v1alpha1';
/** The group of what the coordinator makes of NetworkPolicies. */
export const NETWORK_GROUP = 'network.sdewan.akraino.org';
export const NETWORK_VERSION = 'v1alpha1';

/** The group of kinds that make and replace the pods of CNFs; also the prefix of annotations. */
export const FLEET_GROUP = 'fleet.sdewan.akraino.org';
/** Readiness gate of pods of a staged set: True when they have the traffic. */
export const HANDED_OVER_GATE = `${FLEET_GROUP}/handed-over`;
/**
 * On a CNFDeployment: any value that it did not have makes a new set of pods. On a CNFSet or CNF of
 * the set that serves, any value does, once; the coordinator takes it away then.
 */
export const ROLL_SET_ANNOTATION = `${FLEET_GROUP}/roll-set`;
/** On a CNF: which service its agent is to restart; taken away when it has. */
export const RESTART_ANNOTATION = `${FLEET_GROUP}/restart-service`;
/** What it may name. */
export const RESTARTABLE_SERVICES = ['firewall'] as const;
/** Beside a request: an id of its own and the user who asked, as admission has written them. */
export const askedBeside = (annotation: string): string => `${annotation}-asked`;
/** On a CNFDeployment: the staged set that gets the traffic without every rule, and its time. */
export const PROMOTE_ANNOTATION = `${FLEET_GROUP}/promote`;
/** On the pod template of a Deployment: the pod or request for which the set was made anew. */
export const RENEWED_ANNOTATION = `${FLEET_GROUP}/renewed-for`;

/** On pods of a CNFDeployment, an integer: the heaviest that is healthy has the traffic. */
export const WEIGHT_ANNOTATION = `${FLEET_GROUP}/weight`;
/** Kubernetes' own, on pods: those with the lowest cost go first when a set is scaled down. */
export const DELETION_COST_ANNOTATION = 'controller.kubernetes.io/pod-deletion-cost';

/** Ties a rule CR to a CNF: same value on the CR and on the CNF's pods. */
export const PURPOSE_LABEL = 'sdewanPurpose';
/** Groups rule CRs for permissions: `basic`, `app-intent`, `k8s-service`. */
export const BUCKET_TYPE_LABEL = 'sdewan-bucket-type';
/** JSON on Roles and ClusterRoles: resource plural pattern -> list of bucket type patterns. */
export const BUCKET_PERMISSION_ANNOTATION = 'sdewan-bucket-type-permission';
/**
 * ICN's labels on CNF pods: a Secret with the `password` of root on OpenWRT, and one with the
 * `ca.crt` of its certificate.
 */
export const CNF_ACCOUNT_LABEL = 'cnf-account-secret';
export const CNF_CA_LABEL = 'cnf-cert-secret';
/** JSON on CNF pods, read by the Nodus CNI: which network is which interface. */
export const NFN_NETWORK_ANNOTATION = 'k8s.plugin.opnfv.org/nfn-network';

/** The prefix of our own labels, annotations and finalizers. */
export const PREFIX = 'sdewan.akraino.org';
/** `"true"` on pods of a CNFDeployment: the set that has the traffic, for Services to select by. */
export const ACTIVE_LABEL = `${PREFIX}/active`;
/** ClusterRole for the coordinator to roll CNFDeployments, in the namespaces where it is bound. */
export const FLEET_ROLE = 'sdewan-fleet';
/** How people and tools recognise what the coordinator keeps in other namespaces. */
export const MANAGED_BY = { 'app.kubernetes.io/managed-by': 'sdewan-coordinator' };
/** Selects it. */
export const KEPT_SELECTOR = Object.entries(MANAGED_BY)
  .map((pair) => pair.join('='))
  .join(',');
/** Integer, default 0: rules with a lower order come first in OpenWRT's configuration. */
export const ORDER_ANNOTATION = `${PREFIX}/order`;
/** On owners of CNF pods: when the coordinator made them try again. */
export const RETRIED_AT_ANNOTATION = `${PREFIX}/retried-at`;
/** On the coordinator's Lease: what the one that leads leaves to the next one. */
export const HANDOVER_ANNOTATION = `${PREFIX}/awaited-reports`;
/** `deny`, `warn` or `off`, in place of admission's default for references that do not hold. */
export const REFERENCES_ANNOTATION = `${PREFIX}/references`;
/**
 * On CRs that follow pods, written by the coordinator: the addresses of the pods, sorted, separated
 * by commas; empty when there are none.
 */
export const POD_ADDRESSES_ANNOTATION = `${PREFIX}/pod-addresses`;
/**
 * On Services: the purpose of the CNF that exposes them, or namespace/purpose; `none`: not exposed.
 * And the FirewallZone that clients come from.
 */
export const EXPOSE_ANNOTATION = `${PREFIX}/expose`;
export const EXPOSE_ZONE_ANNOTATION = `${PREFIX}/expose-zone`;
/**
 * On the pod template of a CNF: namespaces beside its own whose Services it exposes, separated by
 * commas. On a Namespace: those whose SdewanApplications may select its pods.
 */
export const ACCEPTS_ANNOTATION = `${PREFIX}/accepts-services-from`;
/** On FirewallDNATs that were made for a Service: which one. */
export const SERVICE_NAMESPACE_LABEL = `${PREFIX}/service-namespace`;
export const SERVICE_NAME_LABEL = `${PREFIX}/service-name`;
export const SERVICE_UID_LABEL = `${PREFIX}/service-uid`;
/** On PolicyEnforcements: the NetworkPolicy that they are made of. */
export const POLICY_UID_LABEL = `${PREFIX}/policy-uid`;
/**
 * On the pod template of a CNF: of which networks it is the gateway, so that it enforces policies
 * for what it forwards. `cluster`: pods' own addresses; else names of its second networks.
 */
export const POLICY_NETWORKS_ANNOTATION = `${PREFIX}/policy-networks`;
/** Beside it, `NetworkPolicy`: NetworkPolicies hold for its second networks as well. */
export const POLICY_KINDS_ANNOTATION = `${PREFIX}/policy-kinds`;
/** What Nodus, and Multus, write of a pod's addresses in second networks. */
export const OVN_INTERFACES_ANNOTATION = 'k8s.plugin.opnfv.org/ovnInterfaces';
export const NETWORK_STATUS_ANNOTATION = 'k8s.v1.cni.cncf.io/network-status';
/** On a MultiNetworkPolicy: the networks that it is for. */
export const POLICY_FOR_ANNOTATION = 'k8s.v1.cni.cncf.io/policy-for';
/** On a pod: which interface is which port of the network (`shared/policy/pod-ports.ts`). */
export const POD_PORTS_ANNOTATION = `${PREFIX}/ports`;
/** On a pod with ports, by the coordinator: the security groups of its policies, by port. */
export const POLICY_GROUPS_ANNOTATION = `${PREFIX}/policy-groups`;
/**
 * Annotations that the coordinator may write: on pods of CNFs, and on all pods. Policy
 * `sdewan-coordinator-pods` holds it to them.
 */
export const WRITTEN_ON_CNF_PODS: readonly string[] = [DELETION_COST_ANNOTATION];
export const WRITTEN_ON_PODS: readonly string[] = [POLICY_GROUPS_ANNOTATION];
/** Multus' own, on pods: which attachments the pod has besides the cluster's network. */
export const NETWORKS_ANNOTATION = 'k8s.v1.cni.cncf.io/networks';
/** On a pod, by the coordinator: JSON, its interfaces and the names of their NetworkPorts. */
export const NETWORK_PORTS_ANNOTATION = `${PREFIX}/network-ports`;
/** On a pod, `"true"`: it gets the addresses of the pod before it, of the same owner. */
export const KEEP_ADDRESSES_ANNOTATION = `${PREFIX}/keep-addresses`;
/** Scheduling gate of pods that wait for addresses in managed networks. */
export const PORTS_GATE = `${NETWORK_GROUP}/ports`;
/** ClusterRole for the coordinator to open that gate, in the namespaces where it is bound. */
export const PORTS_ROLE = 'sdewan-network-ports';
/** On NetworkPorts: the ManagedNetwork. */
export const NETWORK_LABEL = `${PREFIX}/network`;
/** On NetworkPorts: the NetworkPortPool that they were made for. */
export const POOL_LABEL = `${PREFIX}/network-port-pool`;
/** What the coordinator writes on a pod in the write that opens the gate, and in no other. */
export const WRITTEN_WITH_GATE: readonly string[] = [
  NFN_NETWORK_ANNOTATION,
  NETWORKS_ANNOTATION,
  NETWORK_PORTS_ANNOTATION,
];
/** Bucket type of what is made for Services. */
export const SERVICE_BUCKET = 'k8s-service';
/** On a pod, `"true"`: its agent changes nothing on OpenWRT, and goes on reporting. */
export const PAUSED_ANNOTATION = `${PREFIX}/paused`;
/**
 * On the pod template of a CNF whose manifest has the agent already, `"true"`: the API server does
 * not ask the webhook for its pods, so that they start without a coordinator.
 */
export const WITHOUT_WEBHOOK_ANNOTATION = `${PREFIX}/without-webhook`;
/** On a rule CR until each agent has confirmed that the rule is gone from its OpenWRT. */
export const AGENTS_FINALIZER = `${PREFIX}/agents`;
/** ClusterRoles and RoleBindings by which agents read rules: kinds without keys, and with keys. */
export const AGENT_ROLE = 'sdewan-agent';
export const AGENT_KEYS_ROLE = 'sdewan-agent-keys';
/** ClusterRole of those who look at rules and CNFs. */
export const VIEWER_ROLE = 'sdewan-viewer';
/** The role of people who ask agents, which equals root on the CNF. */
export const DEBUG_ROLE = 'sdewan-debug';
/** Audience of the tokens with which agents identify themselves to the coordinator. */
export const REPORT_AUDIENCE = 'sdewan-coordinator';
/** Audience of tokens that `sdewan dashboard` asks for: they are good for nothing else. */
export const DASHBOARD_AUDIENCE = 'sdewan-dashboard';
/** Service account of those who have no token of their own. */
export const DASHBOARD_ACCOUNT = 'sdewan-dashboard-viewer';
export const DASHBOARD_PORT = 8_444;
/** Name of the injected container; the coordinator finds the agent of a pod by it. */
export const AGENT_CONTAINER = 'sdewan-agent';
/**
 * `"true"` on a Namespace: CNFs that run as its service account `default` read the kinds that hold
 * keys, too, and so can every pod of that namespace.
 */
export const DEFAULT_READS_KEYS_ANNOTATION = `${PREFIX}/default-service-account-reads-keys`;
/** ConfigMap in each namespace with CNFs: `ca.crt` is what agents trust the coordinator by. */
export const COORDINATOR_CA_CONFIG_MAP = 'sdewan-coordinator-ca';
/** Environment variable of the injected container with its purpose (pod labels can change). */
export const PURPOSE_ENV = 'SDEWAN_PURPOSE';

/** ICN's finalizers (icn-sdwan 48d3ca6): removed together with ours, so adopted CRs can go. */
export const ICN_FINALIZERS: readonly string[] = [
  'rule',
  'snat',
  'dnat',
  'forwarding',
  'networkfirewallrule',
  'proposal',
  'ipsec.host',
  'ipsec.site',
  'cnfnat',
  'cnfservice',
  'cnflocalservice',
  'cnfhubsite',
].map((prefix) => `${prefix}.finalizers.sdewan.akraino.org`);
