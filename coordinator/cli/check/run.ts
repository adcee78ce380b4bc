import * as z from 'zod';
import { withCluster, type Cluster } from '../cluster/connect.ts';
import { gather } from '../cluster/facts.ts';
import { EXIT, type ExitCode, type Run } from '../command.ts';
import { API_VERSION, formatSchema, print } from '../../views/output/format.ts';
import { hiddenItems } from './hidden.ts';
import { readImage } from './image.ts';
import { imageItems } from './image-items.ts';
import {
  beforeItems,
  exposingItems,
  installationItems,
  kindItems,
  runningItems,
  serverItems,
} from './look.ts';
import { checkText, resultOf, type CheckView, type Item } from './view.ts';

const optionsSchema = formatSchema.extend({
  pre: z.boolean().default(false),
  image: z.string().min(1).optional(),
});
type Options = z.infer<typeof optionsSchema>;

const CODES: Readonly<Record<CheckView['result'], ExitCode>> = {
  Good: EXIT.done,
  Bad: EXIT.no,
  Unknown: EXIT.unknown,
};

export const runCheck: Run = async ({ options }, io, signal) => {
  const asked = optionsSchema.parse(options);
  const items =
    asked.image === undefined
      ? await withCluster({ options, io }, (cluster) => itemsOf(cluster, asked, signal))
      : imageItems(await readImage(asked.image, signal));
  const result = resultOf(items);
  const data: CheckView = { apiVersion: API_VERSION, kind: 'Check', result, items };
  print(io, asked.output, { data, table: () => checkText(items) });
  return CODES[result];
};

const itemsOf = async (
  { client }: Cluster,
  { pre }: Options,
  signal: AbortSignal,
): Promise<Item[]> => {
  const look = { client, signal };
  // Whether it answers at all is told by this one, so that the others need not tell it once more
  // each.
  const server = await serverItems(look);
  if (pre) return [...server, ...(await beforeItems(look))];
  const [kinds, installation, services, facts] = await Promise.all([
    kindItems(look),
    installationItems(look, Date.now()),
    exposingItems(look),
    gather(client, { namespace: undefined, withPods: true }, signal),
  ]);
  return [
    ...server,
    ...kinds,
    ...installation,
    ...(await runningItems(look, facts)),
    ...services,
    ...hiddenItems(facts),
  ];
};
