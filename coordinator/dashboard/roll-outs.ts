/** CNFDeployments by the purpose of their pods, without their templates. */
import { PURPOSE_LABEL } from '#shared/names.ts';
import { cnfDeploymentResource } from '#shared/resources/other-kinds/cnf-deployment.ts';
import { Rules, type RulesOptions } from '../sources/rules.ts';

const specSchema = cnfDeploymentResource.spec.pick({ template: true });

/** A watch that fails leaves them out. */
export const createRollOuts = (
  options: Pick<RulesOptions, 'client' | 'namespace' | 'clock' | 'log' | 'onChange'>,
): Rules =>
  new Rules({
    ...options,
    kinds: [cnfDeploymentResource],
    revisionOf: () => '',
    indexKeysOf: ({ metadata, spec }) => {
      const purpose = specSchema.safeParse(spec).data?.template.metadata.labels[PURPOSE_LABEL];
      return purpose === undefined ? [] : [`${metadata.namespace}/${purpose}`];
    },
    isRead: () => false,
  });
