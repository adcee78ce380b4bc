/** What `sdewan check` says of a cluster, from what was seen. Pure. `undefined`: not to be seen. */
import { X509Certificate } from 'node:crypto';
import type { Resource } from '#shared/resources/resource.ts';
import { few } from '#shared/util/few.ts';
import { docsOf } from '../../views/docs-topics.ts';
import { versionViewOf, type Sides } from '../version/view.ts';
import type { RefusedService } from './services.ts';
import { bad, good, unknown } from './states.ts';
import type { Item } from './view.ts';
import type { VisibleCnf, VisiblePod } from '../../views/cluster-facts.ts';

/** The item for what a user has no right to see. */
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

/** The end of the certificate that ends last: a bundle holds the CA before, too. */
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

export const agentsItem = (pods: readonly VisiblePod[]): Item => {
  const names = pods
    .filter(({ agentImage, optedOut }) => agentImage === undefined && !optedOut)
    .map(({ namespace, name }) => `${namespace}/${name}`);
  return names.length === 0
    ? good(`${pods.length} pods of CNFs, none lacks its agent`)
    : bad(
        `pods without an agent: ${few(names)}`,
        'they were made before the product was installed, or while its webhook was away',
        'Replace them: kubectl rollout restart deployment,statefulset,daemonset -l sdewanPurpose',
      );
};

const isSilent = (status: string): boolean => status !== 'Available';

export const silentItem = (cnfs: readonly VisibleCnf[]): Item => {
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
        "these kinds are of ICN's controller or of an earlier installation, and will get the schema of this one",
        `What to look at first: ${docsOf('migration#before')}`,
      );
