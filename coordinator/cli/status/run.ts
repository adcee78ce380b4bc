import { withCluster } from '../cluster/connect.ts';
import { gather } from '../cluster/facts.ts';
import { cnfNamed, namespaceIsThere, namespaceOf } from '../cluster/scope.ts';
import { cnfsIn } from '../../views/cluster-facts.ts';
import type { Run } from '../command.ts';
import { formatSchema, print } from '../../views/output/format.ts';
import { CODES, unseen } from './answer.ts';
import { statusText, statusViewOf } from '../../views/status.ts';

export const runStatus: Run = ({ args: [name], options }, io, signal) =>
  withCluster({ options, io }, async ({ client, namespace: usual }) => {
    const { output } = formatSchema.parse(options);
    const namespace = namespaceOf(options, usual);
    const facts = await gather(
      client,
      { namespace, withPods: output !== 'table', withRollOuts: true },
      signal,
    );
    if (name !== undefined) cnfNamed(facts, name, namespace);
    if (namespace !== undefined && cnfsIn(facts).length === 0)
      await namespaceIsThere(client, namespace, signal);
    const view = statusViewOf(facts, name);
    const table = (isWide: boolean): string =>
      statusText(view, { isWide, hasNamespaces: namespace === undefined, now: Date.now() });
    print(io, output, { data: view, table });
    for (const line of unseen(view)) io.say(line);
    return CODES[view.inSync];
  });
