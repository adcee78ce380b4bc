import type { Resynced } from '#shared/protocol/inspection.ts';
import { resync } from '../agents/ask.ts';
import { agentPodsOf } from '../agents/find.ts';
import { withCluster } from '../cluster/connect.ts';
import { gather } from '../cluster/facts.ts';
import { namespaceOf } from '../cluster/scope.ts';
import { CannotTellError, EXIT, type ExitCode, type Run } from '../command.ts';
import { printable } from '../../views/output/table.ts';

export const runResync: Run = ({ args: [name = ''], options }, io, signal) =>
  withCluster({ options, io }, async (cluster) => {
    const namespace = namespaceOf(options, cluster.namespace);
    const facts = await gather(cluster.client, { namespace, withPods: true }, signal);
    let code: ExitCode = EXIT.done;
    for (const pod of agentPodsOf(facts, name, namespace)) {
      try {
        const done = await resync(cluster, pod, signal);
        io.out(`${pod.name}: ${printable(wordsOf(done))}\n`);
        if (code === EXIT.done && done.outcome !== PASSED) code = EXIT.no;
      } catch (error) {
        if (!(error instanceof CannotTellError)) throw error;
        io.say(`${pod.name}: ${error.message}`);
        code = EXIT.unknown;
      }
    }
    return code;
  });

const PASSED = 'passed';
const UNANSWERED = 'unanswered';

const wordsOf = ({ outcome, message, paused }: Resynced): string => {
  if (outcome === PASSED)
    return paused
      ? 'the agent has looked at everything; it is paused, so it has changed nothing'
      : 'the agent has looked at everything, and has applied what was not as it should be';
  const problem =
    outcome === UNANSWERED ? 'OpenWRT does not answer' : 'the pass did not get to its end';
  return message === '' ? problem : `${problem}: ${message}`;
};
