/** Lists in pages, with what the user may not see, or the cluster does not have. */
import type { KubeClient } from '#shared/kube/client.ts';
import { isForbidden, isNotFound } from '#shared/kube/errors.ts';
import type { KubeObject, ResourceType } from '#shared/kube/objects.ts';
import { resourceName } from '#shared/kube/path.ts';
import { CannotTellError } from '../command.ts';
import { orLacking } from './connect.ts';
import type { Lacking } from '../../views/rights.ts';

type Reader = { client: Pick<KubeClient, 'list'>; signal: AbortSignal };
/** `namespace`: undefined for all. */
type Selection = {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
};

/** With 10,000 objects in one answer, reading takes longer than a user waits for a request. */
const PAGE_SIZE = 500;

const read = async <T extends KubeObject>(
  { client, signal }: Reader,
  type: ResourceType<T>,
  selection: Selection,
): Promise<T[]> => (await client.list(type, { ...selection, pageSize: PAGE_SIZE, signal })).items;

const rightTo = (type: ResourceType<object>, { namespace }: Selection): Lacking => ({
  verb: 'list',
  resource: resourceName(type),
  namespace,
});

/** @throws LackingRightsError; CannotTellError where the cluster lacks the kind; KubeError */
export const listAll = async <T extends KubeObject>(
  reader: Reader,
  type: ResourceType<T>,
  selection: Selection = {},
): Promise<T[]> => {
  try {
    return await read(reader, type, selection);
  } catch (error) {
    if (isNotFound(error))
      throw new CannotTellError(`this cluster does not know ${type.kind}`, { cause: error });
    throw orLacking(error, rightTo(type, selection));
  }
};

/** Lists as much as may be seen, and keeps what could not be had. */
export type Look = {
  /** Undefined without the right to see it, or if the cluster lacks the kind. @throws KubeError */
  list: <T extends KubeObject>(
    type: ResourceType<T>,
    selection?: Selection,
  ) => Promise<T[] | undefined>;
  lacking: readonly Lacking[];
  /** Kinds that the cluster does not know. */
  absent: readonly string[];
};

export const createLook = (reader: Reader): Look => {
  const lacking: Lacking[] = [];
  const absent: string[] = [];
  return {
    lacking,
    absent,
    list: async (type, selection = {}) => {
      try {
        return await read(reader, type, selection);
      } catch (error) {
        if (isForbidden(error)) lacking.push(rightTo(type, selection));
        else if (isNotFound(error)) absent.push(type.kind);
        else throw error;
        return undefined;
      }
    },
  };
};
