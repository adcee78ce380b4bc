/**
 * `sdewan version` as a value and as text. Pure. An image tells its version by its tag, as nothing
 * else in a cluster does.
 */
import * as z from 'zod';
import { API_VERSION, headOf } from '../../views/output/format.ts';
import { table } from '../../views/output/table.ts';

const imageSchema = z.object({
  image: z.string(),
  version: z.string().optional().describe('Of its tag; absent where that is none.'),
});

export const versionViewSchema = z.object({
  ...headOf('Version'),
  cli: z.string(),
  coordinators: z.array(imageSchema).describe('Empty where they cannot be seen.'),
  agents: z.array(imageSchema).describe('Each image once; empty where pods cannot be seen.'),
  fit: z
    .enum(['Yes', 'No', 'Unknown'])
    .describe('Yes: all are of this version or of the one before or behind it.'),
  remarks: z.array(z.string()),
});
export type VersionView = z.infer<typeof versionViewSchema>;

export type Sides = {
  cli: string;
  coordinators: readonly string[];
  agents: readonly string[];
  /** Kinds that the cluster does not have. */
  absent: readonly string[];
};

export const versionViewOf = ({ cli, coordinators, agents, absent }: Sides): VersionView => {
  const [ofCoordinators, ofAgents] = [imagesOf(coordinators), imagesOf(agents)];
  const judged = [
    ...ofCoordinators.map((one) => ({ ...one, who: 'the coordinator' })),
    ...ofAgents.map((one) => ({ ...one, who: 'an agent' })),
  ].map((one) => ({ ...one, fit: fitOf(cli, one.version) }));
  const remarks = judged.flatMap(({ who, image, version, fit }) => {
    if (fit === 'Unknown') return [`${who} is ${image}, whose tag is no version`];
    if (fit === 'No')
      return [
        `${who} has version ${version}, and this program has ${cli}: only the version before and the one behind it are supported; statuses can be read all the same`,
      ];
    return version === cli
      ? []
      : [
          `${who} has version ${version}, and this program has ${cli}: what one of them does not know is left out`,
        ];
  });
  if (absent.length > 0)
    remarks.push(
      `the cluster does not have ${absent.join(', ')}: its CRDs are of an older version; everything else works`,
    );
  const isKnown = ofCoordinators.length > 0 && judged.every(({ fit }) => fit !== 'Unknown');
  const isWrong = judged.some(({ fit }) => fit === 'No');
  return {
    apiVersion: API_VERSION,
    kind: 'Version',
    cli,
    coordinators: ofCoordinators,
    agents: ofAgents,
    fit: isWrong ? 'No' : isKnown ? 'Yes' : 'Unknown',
    remarks,
  };
};

/** A registry may have a port, and a digest may stand behind the tag. */
const TAG = /:v?(\d+\.\d+\.\d+)(?:[-+][\w.-]+)?(?:@[^@]*)?$/;

/** Each once. */
const imagesOf = (images: readonly string[]): VersionView['agents'] =>
  [...new Set(images)].sort().map(imageOf);

const imageOf = (image: string): VersionView['agents'][number] => {
  const [, version] = TAG.exec(image) ?? [];
  return { image, ...(version !== undefined && { version }) };
};

const fitOf = (cli: string, other: string | undefined): VersionView['fit'] => {
  if (other === undefined) return 'Unknown';
  const [major, minor] = numbersOf(cli);
  const [otherMajor, otherMinor] = numbersOf(other);
  const isNear = major === otherMajor && Math.abs(minor - otherMinor) <= 1;
  return isNear ? 'Yes' : 'No';
};

const numbersOf = (version: string): [number, number] => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return [major, minor];
};

export const versionText = ({ cli, coordinators, agents }: VersionView): string =>
  table(
    ['SIDE', 'VERSION', 'IMAGE'],
    [
      ['this program', cli, '-'],
      ...coordinators.map(({ image, version }) => ['coordinator', version ?? '-', image]),
      ...agents.map(({ image, version }) => ['agents', version ?? '-', image]),
    ],
  );
