import { withCluster } from '../cluster/connect.ts';
import { gather } from '../cluster/facts.ts';
import { cnfNamed, namespaceOf } from '../cluster/scope.ts';
import type { Run } from '../command.ts';
import { formatSchema, print } from '../../views/output/format.ts';
import { CODES, unseen } from '../status/answer.ts';
import { rulesText, rulesViewOf } from '../../views/rules.ts';

export const runRules: Run = ({ args: [name = ''], options }, io, signal) =>
  withCluster({ options, io }, async ({ client, namespace: usual }) => {
    const { output } = formatSchema.parse(options);
    const namespace = namespaceOf(options, usual);
    const facts = await gather(client, { namespace }, signal);
    const view = rulesViewOf(facts, cnfNamed(facts, name, namespace));
    const table = (isWide: boolean): string => rulesText(view, { isWide, now: Date.now() });
    print(io, output, { data: view, table });
    for (const line of unseen(view)) io.say(line);
    return CODES[view.inSync];
  });
