/**
 * The policy by which the API server itself gives pods that are no CNFs, and name a managed
 * network, the gate behind which they wait for addresses (Kubernetes 1.36). It is asked once for
 * each ManagedNetwork, in namespaces with the label alone, so that it holds up no other pod
 * whatever becomes of it. It compares texts, since CEL parses no JSON: the coordinator opens the
 * gate of a pod that only looks as if it named a network.
 */
import {
  NETWORK_PORTS_ANNOTATION,
  NETWORKS_ANNOTATION,
  NFN_NETWORK_ANNOTATION,
  PORTS_GATE,
  PURPOSE_LABEL,
} from '#shared/names.ts';
import { managedNetworkResource } from '#shared/resources/other-kinds/managed-network.ts';

const NAME = 'sdewan-ports-gate';
const { group, version, kind } = managedNetworkResource;
const GATES = 'object.spec.?schedulingGates.orValue([])';

const policy = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingAdmissionPolicy',
  metadata: { name: NAME },
  spec: {
    failurePolicy: 'Fail',
    reinvocationPolicy: 'IfNeeded',
    paramKind: { apiVersion: `${group}/${version}`, kind },
    matchConstraints: {
      matchPolicy: 'Equivalent',
      namespaceSelector: { matchLabels: { [NETWORK_PORTS_ANNOTATION]: 'enabled' } },
      objectSelector: { matchExpressions: [{ key: PURPOSE_LABEL, operator: 'DoesNotExist' }] },
      resourceRules: [
        {
          apiGroups: [''],
          apiVersions: ['*'],
          resources: ['pods'],
          operations: ['CREATE'],
          scope: 'Namespaced',
        },
      ],
    },
    matchConditions: [
      // The API server takes no gates of a pod that has its node already.
      { name: 'has-no-node', expression: "object.spec.?nodeName.orValue('') == ''" },
      { name: 'lacks-it', expression: `!${GATES}.exists(gate, gate.name == '${PORTS_GATE}')` },
    ],
    variables: [
      {
        name: 'texts',
        expression: `['${NFN_NETWORK_ANNOTATION}', '${NETWORKS_ANNOTATION}'].map(name, object.metadata.?annotations[?name].orValue(''))`,
      },
      {
        name: 'isNamed',
        expression:
          "params.spec.names.map(name, name.split('/')).exists(parts, variables.texts.exists(text, text.contains(parts[parts.size() - 1])))",
      },
    ],
    mutations: [
      {
        patchType: 'JSONPatch',
        jsonPatch: {
          expression: `variables.isNamed ? [JSONPatch{op: 'add', path: '/spec/schedulingGates', value: ${GATES} + [{'name': '${PORTS_GATE}'}]}] : []`,
        },
      },
    ],
  },
};

const binding = {
  apiVersion: policy.apiVersion,
  kind: 'MutatingAdmissionPolicyBinding',
  metadata: { name: NAME },
  spec: { policyName: NAME, paramRef: { selector: {}, parameterNotFoundAction: 'Allow' } },
};

export const portsGate = [policy, binding];
