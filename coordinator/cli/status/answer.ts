/** What commands that ask whether rules are in sync answer beside the rules. */
import { rightsOf } from '../../views/rights.ts';
import { EXIT, type CommandIo, type ExitCode } from '../command.ts';
import type { StatusView } from '../../views/status.ts';
import type { ClusterFacts } from '../../views/cluster-facts.ts';

export const CODES: Readonly<Record<StatusView['inSync'], ExitCode>> = {
  Yes: EXIT.done,
  No: EXIT.no,
  Unknown: EXIT.unknown,
};

/** What the answer does not cover. */
export const unseen = ({
  notSeen,
  absentKinds,
}: Pick<StatusView, 'notSeen' | 'absentKinds'>): string[] => [
  ...notSeen,
  ...(absentKinds.length === 0
    ? []
    : [
        `this cluster does not have the kinds ${absentKinds.join(', ')}: an older version is installed`,
      ]),
];

export const sayUnseen = ({ lacking, absent }: ClusterFacts, { say }: CommandIo): void => {
  for (const line of unseen({ notSeen: rightsOf(lacking), absentKinds: [...absent] })) say(line);
};
