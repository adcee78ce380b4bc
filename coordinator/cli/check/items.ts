/** What `sdewan check` says of a cluster, from what was seen of it. Pure. `undefined` is what the user may not see. */
import { X509Certificate } from 'node:crypto';
import { checkMetadata, checkSpec } from '#shared/compile/check.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import type { Resource } from '#shared/resources/resource.ts';
import { cnfService } from '#shared/resources/rules/cnf-service.ts';
import { few } from '#shared/runtime/few.ts';
import { purposeOf, type CnfObject, type CnfPod } from '../cluster/facts.ts';
import { docsOf } from '../docs/topics.ts';
import { versionViewOf, type Sides } from '../version/view.ts';
import type { LackingRole } from './roles.ts';
import type { RefusedService } from './services.ts';
import { bad, good, unknown } from './states.ts';
import type { Item } from './view.ts';

/** Of what somebody may not see. */
export const unseenItem = (what: string, right: string): Item =>
  unknown(what, right, 'Ask an administrator for this right.');

const INSTALL = 'kubectl apply -k deploy';
const OLDEST_MINOR = 33;

export const serverItem = (gitVersion: string): Item => {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  const what = `API server: ${gitVersion}`;
  if (major === undefined || minor === undefined)
    return unknown(what, 'this is no version of Kubernetes');
  return Number(major) > 1 || Number(minor) >= OLDEST_MINOR
    ? good(what)
    : bad(what, `versions before 1.${OLDEST_MINOR} are not supported`, 'Upgrade the cluster.');
};

export type Crd = { name: string; served: readonly string[] };

export const kindsItem = (resources: readonly Resource[], crds: readonly Crd[]): Item => {
  const byName = new Map(crds.map(({ name, served }) => [name, served]));
  const wrong = resources.flatMap(({ plural, group, version }) => {
    const served = byName.get(`${plural}.${group}`);
    if (served === undefined) return [`${plural}.${group} is missing`];
    return served.includes(version) ? [] : [`${plural}.${group} has no version ${version}`];
  });
  return wrong.length === 0
    ? good(`${resources.length} kinds`)
    : bad('kinds', few(wrong), `Install the CRDs of this version: ${INSTALL}`);
};

export type WebhookConfiguration = {
  kind: string;
  webhooks: readonly { name: string; caBundle: string; path: string }[];
};

const DAY_MS = 86_400_000;
/** The coordinator renews long before. */
const SOON_MS = 7 * DAY_MS;

/** `configurations`: those of the product that are there. */
export const webhookItems = (
  configurations: readonly WebhookConfiguration[],
  kinds: readonly string[],
  now: number,
): Item[] =>
  kinds.map((kind) => {
    const found = configurations.find((one) => one.kind === kind);
    if (!found) return bad(kind, 'it is missing, so nothing is checked', `Install it: ${INSTALL}`);
    const silent = found.webhooks.filter(({ caBundle, path }) => caBundle === '' || path === '');
    if (silent.length > 0)
      return bad(
        `${kind}: ${few(silent.map(({ name }) => name))}`,
        'it has no CA or no path, which the leading coordinator writes',
        'See whether a coordinator runs: kubectl get pods -n sdewan-system',
      );
    const ends = found.webhooks.map(({ caBundle }) => endOf(caBundle));
    if (ends.includes(undefined))
      return bad(kind, 'its CA is no certificate', 'Restart the coordinator, which writes it.');
    const end = Math.min(...ends.map((one) => one ?? 0));
    const date = new Date(end).toISOString().slice(0, 10);
    if (end > now + SOON_MS) return good(`${kind}, its CA is valid until ${date}`);
    return bad(
      kind,
      end > now ? `its CA is valid until ${date} only` : `its CA has ended on ${date}`,
      'See the log of the coordinator, which renews it: kubectl logs -n sdewan-system deployment/sdewan-coordinator',
    );
  });

/** Of the certificate that ends last: a bundle holds the CA before, too. */
const endOf = (caBundle: string): number | undefined => {
  const certificates = Buffer.from(caBundle, 'base64')
    .toString()
    .match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  try {
    const ends = (certificates ?? []).map((pem) => Date.parse(new X509Certificate(pem).validTo));
    return ends.length === 0 ? undefined : Math.max(...ends);
  } catch {
    return undefined;
  }
};

export type CoordinatorDeployment = { name: string; ready: number; wanted: number };

export const coordinatorItem = (deployments: readonly CoordinatorDeployment[]): Item => {
  if (deployments.length === 0)
    return bad('coordinator', 'there is none', `Install it: ${INSTALL}`);
  const down = deployments.find(({ ready, wanted }) => ready < wanted);
  if (!down) return good(`coordinator: ${few(deployments.map(({ name }) => name))} is ready`);
  return bad(
    'coordinator',
    `${down.ready} of ${down.wanted} pods of ${down.name} are ready`,
    `kubectl describe pods -n sdewan-system says why`,
  );
};

export const versionsItem = (sides: Sides): Item => {
  const { fit, remarks } = versionViewOf(sides);
  if (fit === 'Yes') return good(`versions: all fit ${sides.cli}`);
  const words = few(remarks);
  return fit === 'No'
    ? bad('versions', words, 'Upgrade what is more than one version behind.')
    : unknown('versions', words || 'none can be seen');
};

export const agentsItem = (pods: readonly CnfPod[]): Item => {
  const names = pods
    .filter(({ agentImage, optedOut }) => agentImage === undefined && !optedOut)
    .map(({ namespace, name }) => `${namespace}/${name}`);
  return names.length === 0
    ? good(`${pods.length} pods of CNFs, none lacks its agent`)
    : bad(
        `pods without an agent: ${few(names)}`,
        'they were made before the product was installed, or while its webhook was away',
        'Replace them: kubectl rollout restart deployment -l sdewanPurpose',
      );
};

const isSilent = (status: string): boolean => status !== 'Available';

export const silentItem = (cnfs: readonly CnfObject[]): Item => {
  const silent = cnfs.flatMap(({ status }) =>
    (status?.information ?? []).filter((pod) => isSilent(pod.status)),
  );
  const [first] = silent;
  if (!first) return good(`${cnfs.length} CNFs, all agents report`);
  return bad(
    `agents that do not report: ${few(silent.map(({ namespace, name }) => `${namespace}/${name}`))}`,
    first.message ?? 'nothing is known of them',
    `kubectl logs -n ${first.namespace} -l sdewanPurpose=${first.purpose} -c sdewan-agent and kubectl describe pod say more`,
  );
};

export const roleItems = (lacking: readonly LackingRole[]): Item[] =>
  lacking.length === 0
    ? [good('roles: each that grants bucket types has the rules for it')]
    : lacking.map(({ role, rules }) =>
        bad(
          role,
          'it grants bucket types by its annotation only, which a later release refuses',
          `Add to its rules (${docsOf('admission#buckets')}): ${rules.join(' ')}`,
        ),
      );

export const serviceItems = (refused: readonly RefusedService[]): Item[] =>
  refused.length === 0
    ? [good('services: each that asks for ports of a CNF gets them')]
    : refused.map(({ service, reasons }) =>
        bad(
          `Service ${service}`,
          `it does not get all ports of a CNF that it asks for: ${few(reasons)}`,
          `Change it, or the CNF (${docsOf('services#a-service-of-kubernetes')}).`,
        ),
      );

/** `denied`: what the user may not create, of what an installation creates. */
export const installRightsItem = (denied: readonly string[], asked: number): Item =>
  denied.length === 0
    ? good(`rights: you may create all ${asked} kinds of objects that an installation has`)
    : bad(
        'rights for the installation',
        `you may not create ${few(denied)}`,
        'Have an administrator of the cluster install it.',
      );

export const freshItem = (present: readonly string[]): Item =>
  present.length === 0
    ? good('nothing of the product is there yet')
    : unknown(
        `already there: ${few(present)}`,
        "these kinds are of an earlier version or of ICN's controller, and will get the schema of this one",
        'sdewan check --migrate says what of it to look at first.',
      );

/** What is stored, and would be refused if it were written now. */
export const storedItems = (
  rules: readonly RuleObject[],
  kindOf: (name: string) => KindDefinition | undefined,
): Item[] => {
  const refused = rules.flatMap((rule) => {
    const kind = kindOf(rule.kind);
    if (!kind) return [];
    const checked = checkSpec(kind, rule.spec);
    const problem = 'problem' in checked ? checked.problem : checkMetadata(kind, rule);
    if (!problem) return [];
    const { namespace, name } = rule.metadata;
    return [
      bad(`${rule.kind} ${namespace}/${name}`, problem.message, 'Correct it, and apply it again.'),
    ];
  });
  return refused.length === 0 ? [good(`${rules.length} stored rules, none is refused`)] : refused;
};

export type CnfWorkload = {
  kind: string;
  namespace: string;
  name: string;
  purpose: string | undefined;
  templatePurpose: string | undefined;
  serviceAccount: string;
};

export type Migrating = {
  rules: readonly RuleObject[];
  workloads: readonly CnfWorkload[];
  /** Kinds that hold keys. */
  keyKinds: ReadonlySet<string>;
  /** Namespaces whose service account `default` may read them. */
  defaultReadsKeys: ReadonlySet<string>;
};

const DEFAULT_ACCOUNT = 'default';

/** The four points of docs/migration.md. */
export const migrationItems = (seen: Migrating): Item[] => [
  placesItem(seen),
  templatesItem(seen),
  accountsItem(seen),
  portsItem(seen),
];

const placesItem = ({ rules, workloads }: Migrating): Item => {
  const places = new Map<string, string[]>();
  for (const { namespace, purpose, templatePurpose } of workloads)
    for (const one of new Set([purpose, templatePurpose]))
      if (one) places.set(one, [...(places.get(one) ?? []), namespace]);
  const apart = rules.filter((rule) => {
    const there = places.get(purposeOf(rule));
    return there !== undefined && !there.includes(rule.metadata.namespace);
  });
  const [first] = apart;
  if (!first) return good('rules are in the namespaces of their CNFs');
  const names = apart.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`);
  return bad(
    `rules in another namespace than their CNF: ${few(names)}`,
    `CNF ${purposeOf(first)} is in namespace ${few(places.get(purposeOf(first)) ?? [])}, and a rule belongs to the pods of its own`,
    'Copy them into the namespace of the CNF, and delete the old ones when all is done.',
  );
};

const templatesItem = ({ workloads }: Migrating): Item => {
  const lacking = workloads.filter(
    ({ purpose, templatePurpose }) => purpose && templatePurpose !== purpose,
  );
  return lacking.length === 0
    ? good('pod templates of CNFs have the label sdewanPurpose')
    : bad(
        `label sdewanPurpose of the pod template: ${few(lacking.map(placeOf))}`,
        'the pod template lacks the label of its workload, or has another value',
        'Put the same label into the pod template.',
      );
};

const accountsItem = ({ rules, workloads, keyKinds, defaultReadsKeys }: Migrating): Item => {
  const withKeys = new Set(
    rules
      .filter(({ kind }) => keyKinds.has(kind))
      .map((rule) => `${rule.metadata.namespace}/${purposeOf(rule)}`),
  );
  const shared = workloads.filter(
    ({ namespace, purpose, templatePurpose, serviceAccount }) =>
      serviceAccount === DEFAULT_ACCOUNT &&
      !defaultReadsKeys.has(namespace) &&
      withKeys.has(`${namespace}/${templatePurpose ?? purpose ?? ''}`),
  );
  return shared.length === 0
    ? good('CNFs with IPsec rules have service accounts of their own')
    : bad(
        `service account default with IPsec rules: ${few(shared.map(placeOf))}`,
        'such rules hold keys, which agents that run as default may not read',
        'Set serviceAccountName in the pod template, or annotate the namespace: sdewan.akraino.org/default-service-account-reads-keys=true',
      );
};

const portsItem = ({ rules }: Migrating): Item => {
  const services = rules.filter(({ kind }) => kind === cnfService.kind);
  return services.length === 0
    ? good(`no ${cnfService.kind}`)
    : unknown(
        `${cnfService.kind}: ${few(services.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`))}`,
        "port and dport mean what ICN's README says, which is the reverse of what its controller did",
        `Exchange the two in those that were written for ICN's controller (${docsOf('services#coming-from-icns-controller')}).`,
      );
};

const placeOf = ({ kind, namespace, name }: CnfWorkload): string => `${kind} ${namespace}/${name}`;
