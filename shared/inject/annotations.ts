/**
 * What a CNF's pod template can say about its agent. Each annotation is checked; one that is
 * misspelt or out of range is a problem that names it and what is allowed, never silently left out.
 */
import * as z from 'zod';
import { CNF_ACCOUNT_LABEL, CNF_CA_LABEL, WITHOUT_WEBHOOK_ANNOTATION } from '../names.ts';
import { driverChoices, drivers, loginNeededBy } from './drivers.ts';
import { logLevels, type InjectOptions } from './options.ts';
import type { PodTemplate } from './pod.ts';
import { policyNetworksIn } from './policy-networks.ts';
import { own } from '../util/own.ts';

const PREFIX = 'sdewan.akraino.org/';
const AGENT_PREFIX = `${PREFIX}agent-`;
/** `"false"` keeps the agent out of a pod. */
export const INJECT_ANNOTATION = `${PREFIX}inject`;

type Setting = {
  /** Completes "… must be". */
  allowed: string;
  meaning: string;
  /** Undefined when the value is not allowed. */
  apply: (options: InjectOptions, value: string) => InjectOptions | undefined;
};

const setting = <T>(
  schema: z.ZodType<T>,
  {
    allowed,
    meaning,
    set,
  }: Pick<Setting, 'allowed' | 'meaning'> & { set: (value: T) => Partial<InjectOptions> },
): Setting => ({
  allowed,
  meaning,
  apply: (options, value) => {
    const parsed = schema.safeParse(value);
    return parsed.success ? { ...options, ...set(parsed.data) } : undefined;
  },
});

const listed = (values: readonly string[]): string => `one of ${values.join(', ')}`;

const objectName = z.string().regex(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/);
const containerName = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
const image = z.string().regex(/^[a-z0-9]([\w.:/@-]{0,510}\w)?$/i);
const quantity = z.string().regex(/^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi)?$/);
const booleans = ['true', 'false'] as const;
const needingLogin = drivers
  .filter(({ needsLogin }) => needsLogin !== undefined)
  .map(({ name }) => name)
  .join(', ');
const secret = 'the name of a Secret in the namespace of the pod';

const resource = (
  name: 'cpu' | 'memory',
  bound: 'requests' | 'limits',
  example: string,
): Setting => ({
  allowed: `a quantity such as ${example}`,
  meaning: `${name} ${bound === 'requests' ? 'request' : 'limit'} of the agent's container`,
  apply: (options, value) => {
    const { resources } = options;
    const changed = { ...resources, [bound]: { ...resources[bound], [name]: value } };
    return quantity.safeParse(value).success ? { ...options, resources: changed } : undefined;
  },
});

/** By annotation, without `sdewan.akraino.org/agent-`. */
export const settings: Readonly<Record<string, Setting>> = {
  image: setting(image, {
    allowed: 'an image reference such as registry.example/sdewan-agent:1.0',
    meaning: "the agent's image",
    set: (value) => ({ image: value }),
  }),
  driver: setting(z.enum(driverChoices), {
    allowed: listed(driverChoices),
    meaning: `how the agent talks to OpenWRT; ${needingLogin} needs a login Secret`,
    set: (driver) => ({ driver }),
  }),
  'openwrt-url': setting(z.url({ protocol: /^https?$/ }), {
    allowed: 'an http or https URL such as http://127.0.0.1:80',
    meaning: "OpenWRT's web server as seen from the pod",
    set: (openwrtUrl) => ({ openwrtUrl }),
  }),
  'openwrt-server-name': setting(objectName, {
    allowed: 'a DNS name',
    meaning: "the name in OpenWRT's certificate, if it is not the host of the URL",
    set: (openwrtServerName) => ({ openwrtServerName }),
  }),
  'openwrt-container': setting(containerName, {
    allowed: 'the name of a container of the pod',
    meaning: 'the container that runs OpenWRT; default: the first one of the pod',
    set: (openwrtContainer) => ({ openwrtContainer }),
  }),
  'own-login': setting(z.enum(booleans), {
    allowed: listed(booleans),
    meaning: 'whether the agent creates a login of its own on OpenWRT; false needs a login Secret',
    set: (value) => ({ ownLogin: value === 'true' }),
  }),
  'login-secret': setting(objectName, {
    allowed: secret,
    meaning: 'Secret with `password` and, if it is not root, `username` of a login on OpenWRT',
    set: (loginSecret) => ({ loginSecret }),
  }),
  'ca-secret': setting(objectName, {
    allowed: secret,
    meaning: "Secret whose `ca.crt` signs OpenWRT's certificate",
    set: (openwrtCaSecret) => ({ openwrtCaSecret }),
  }),
  'commit-confirm': setting(z.union([z.literal('off'), z.coerce.number().int().min(5).max(600)]), {
    allowed: 'off, or seconds from 5 to 600',
    meaning:
      'how long after a change the agent watches that it still reaches the API server, or undoes the change; default: 30',
    set: (value) => ({ commitConfirm: String(value) }),
  }),
  'log-level': setting(z.enum(logLevels), {
    allowed: listed(logLevels),
    meaning: 'lowest level that the agent logs',
    set: (logLevel) => ({ logLevel }),
  }),
  'cpu-request': resource('cpu', 'requests', '10m'),
  'cpu-limit': resource('cpu', 'limits', '500m'),
  'memory-request': resource('memory', 'requests', '64Mi'),
  'memory-limit': resource('memory', 'limits', '128Mi'),
};

export type ReadOptions = { options: InjectOptions } | { problems: string[] };

export const isOptedOut = ({ metadata }: PodTemplate): boolean =>
  metadata?.annotations?.[INJECT_ANNOTATION] === 'false';

/** The defaults, changed by ICN's pod labels and then by our annotations. */
export const readOptions = (template: PodTemplate, defaults: InjectOptions): ReadOptions => {
  const { labels = {}, annotations = {} } = template.metadata ?? {};
  const problems = [
    ...labelProblems(labels),
    ...[INJECT_ANNOTATION, WITHOUT_WEBHOOK_ANNOTATION].flatMap((annotation) =>
      switchProblems(annotation, annotations[annotation]),
    ),
    ...policyNetworksIn(annotations).problems,
  ];
  let options = withIcnLabels(labels, defaults);
  for (const [annotation, value] of agentAnnotations(annotations)) {
    const known = own(settings, annotation.slice(AGENT_PREFIX.length));
    const changed = known?.apply(options, value);
    if (changed) options = changed;
    else problems.push(annotationProblem(annotation, value, known));
  }
  if (loginNeededBy(options.driver) !== undefined) options = { ...options, ownLogin: false };
  problems.push(...loginProblems(options));
  return problems.length > 0 ? { problems } : { options };
};

/** Without a login the agent would end at its start, and the pod would never be Ready. */
const loginProblems = ({ driver, ownLogin, loginSecret }: InjectOptions): string[] => {
  if (ownLogin || loginSecret !== undefined) return [];
  const needed = loginNeededBy(driver);
  const why =
    needed === undefined
      ? `${AGENT_PREFIX}own-login: "false" needs another login`
      : `${AGENT_PREFIX}driver: ${driver} needs ${needed}'s login`;
  return [
    `annotation ${why}: name its Secret in annotation ${AGENT_PREFIX}login-secret or label ${CNF_ACCOUNT_LABEL}`,
  ];
};

const withIcnLabels = (labels: Record<string, string>, defaults: InjectOptions): InjectOptions => ({
  ...defaults,
  loginSecret: labels[CNF_ACCOUNT_LABEL] ?? defaults.loginSecret,
  openwrtCaSecret: labels[CNF_CA_LABEL] ?? defaults.openwrtCaSecret,
});

const agentAnnotations = (annotations: Record<string, string>): [string, string][] =>
  Object.entries(annotations).filter(([annotation]) => annotation.startsWith(AGENT_PREFIX));

const labelProblems = (labels: Record<string, string>): string[] =>
  [CNF_ACCOUNT_LABEL, CNF_CA_LABEL].flatMap((label) => {
    const value = own(labels, label);
    return value === undefined || objectName.safeParse(value).success
      ? []
      : [problemWith(`label ${label}`, value, secret)];
  });

const switchProblems = (annotation: string, value: string | undefined): string[] =>
  value === undefined || z.enum(booleans).safeParse(value).success
    ? []
    : [problemWith(`annotation ${annotation}`, value, listed(booleans))];

/** Long values are cut: they come back in a message. */
const problemWith = (where: string, value: string, allowed: string): string =>
  `${where}: ${JSON.stringify(value.slice(0, 64))} must be ${allowed}`;

const annotationProblem = (
  annotation: string,
  value: string,
  known: Setting | undefined,
): string => {
  if (known) return problemWith(`annotation ${annotation}`, value, known.allowed);
  const names = Object.keys(settings).map((name) => AGENT_PREFIX + name);
  return `annotation ${annotation} is unknown; known annotations are ${names.join(', ')}`;
};
