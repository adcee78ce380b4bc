/** Rights that a user lacks, and how they are told. Pure. */
import * as z from 'zod';

/** `namespace`: undefined for all. */
export type Lacking = {
  verb: 'list' | 'get' | 'create';
  resource: string;
  namespace: string | undefined;
};

/** What to ask an administrator for, as few sentences as there are places. */
export const rightsOf = (lacking: readonly Lacking[]): string[] => {
  const groups = Map.groupBy(lacking, ({ verb, namespace }) => {
    const place = namespace === undefined ? 'in all namespaces' : `in namespace ${namespace}`;
    return JSON.stringify([verb, place]);
  });
  return [...groups].map(([key, group]) => {
    const [verb, place] = z.tuple([z.string(), z.string()]).parse(JSON.parse(key));
    const resources = group.map(({ resource }) => resource).sort();
    return `you may not ${verb} ${resources.join(', ')} ${place}`;
  });
};
