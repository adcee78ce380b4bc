/** The texts of all Events of policies that CNFs enforce. */
import type { RecordedEvent } from '#shared/kube/events.ts';
import { keyOf, type PolicyPlace } from './objects.ts';
import type { OwnStatus, Status } from './status.ts';

/** While a pod comes up or an agent catches up, there is nothing to do. */
const PASSING: ReadonlySet<string> = new Set(['AgentNotReady', 'NoAddressYet', 'Finished']);

const lastingOf = ({ notEnforced = [] }: OwnStatus): string =>
  notEnforced
    .filter(({ reason }) => !PASSING.has(reason))
    .map(({ reason, examples }) => `${reason} (${examples.join(', ')})`)
    .join('; ');

/** Only what is new: that it is enforced at all, and pods for which it is not and will not be. */
export const eventsOf = (
  place: PolicyPlace,
  before: Status,
  { selectedPods, scope, ...now }: Status,
): Omit<RecordedEvent, 'object'>[] => {
  const cnf = `CNF ${keyOf(place)}`;
  const events: Omit<RecordedEvent, 'object'>[] = [];
  const isNewlyEnforced = (before.selectedPods?.enforced ?? 0) === 0;
  if (selectedPods && selectedPods.enforced > 0 && isNewlyEnforced)
    events.push({
      type: 'Normal',
      reason: 'Enforced',
      message: `${cnf} enforces the policy for ${selectedPods.summary} pods: ${scope}`,
    });
  const lasting = lastingOf(now);
  if (lasting !== '' && lasting !== lastingOf(before))
    events.push({
      type: 'Warning',
      reason: 'NotEnforced',
      message: `${cnf} does not enforce the policy for some pods: ${lasting}`,
    });
  return events;
};

/** An annotation of a pod by which its CNF would enforce policies. */
export const invalidAnnotation = (
  object: RecordedEvent['object'],
  message: string,
): RecordedEvent => ({
  object,
  type: 'Warning',
  reason: 'InvalidAnnotation',
  message,
  once: true,
});

/** The policy cannot be carried, as a whole. */
export const notCarried = (object: RecordedEvent['object'], message: string): RecordedEvent => ({
  object,
  type: 'Warning',
  reason: 'NotEnforced',
  message,
  once: true,
});
