import { withCluster } from '../cluster/connect.ts';
import { gather } from '../cluster/facts.ts';
import { rightsOf } from '../../views/rights.ts';
import { namespaceOf } from '../cluster/scope.ts';
import { CannotTellError, EXIT, type Run } from '../command.ts';
import { formatSchema, print } from '../../views/output/format.ts';
import { sayUnseen } from '../status/answer.ts';
import { eventsOf } from './events.ts';
import { explainPolicy } from './policy-run.ts';
import { parseTarget, ruleNamed } from './target.ts';
import { explanationOf, explanationText } from '../../views/explanation.ts';

export const runExplain: Run = ({ args: [text = ''], options }, io, signal) => {
  const target = parseTarget(text);
  return withCluster({ options, io }, async ({ client, namespace: usual }) => {
    const { output } = formatSchema.parse(options);
    const namespace = namespaceOf(options, usual);
    if ('policy' in target) return explainPolicy(target, { client, namespace, output, io, signal });
    const facts = await gather(client, { namespace, withPods: true }, signal);
    const hidden = facts.lacking.find(({ resource }) =>
      resource.startsWith(`${target.kind.plural}.`),
    );
    if (hidden) throw new CannotTellError(rightsOf([hidden]).join('; '));
    const rule = ruleNamed(facts.rules, target);
    const view = explanationOf(rule, facts, await eventsOf(rule, client, { io, signal }));
    print(io, output, { data: view, table: () => explanationText(view, Date.now()) });
    sayUnseen(facts, io);
    return view.rule.state === 'InSync' ? EXIT.done : EXIT.no;
  });
};
