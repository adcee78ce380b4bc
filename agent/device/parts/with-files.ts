/**
 * A transaction with files around it. New files come first, since swanctl's script refuses its whole configuration for one that is not
 * there; files of no more use go when the change is permanent, and the service is told once more, since it keeps what it has loaded.
 * A crash leaves files that no section refers to, or that one still does: the next pass sees either.
 */
import { DEVICE_FILES } from '#shared/resources/device-files.ts';
import { applyDelta } from '#shared/uci/delta.ts';
import type { UciDelta } from '#shared/uci/model.ts';
import { removeDeviceFiles, versionOf, writeDeviceFiles } from './device-files.ts';
import { runTransaction, type TransactionResult } from '../ubus/write/transaction.ts';
import type { Base, PackageState, Transaction, WritePath } from '../ubus/write/write-path.ts';

/** The package whose sections refer to files. */
export const USER_OF_FILES = 'ipsec';

type FilesChange = { delta: UciDelta; base: Base };

/** As `runTransaction`. With `files`, the transaction has a delta of `USER_OF_FILES`, if that can be reloaded. */
export const runWithFiles = async (
  path: WritePath,
  transaction: Transaction,
  files: FilesChange | undefined,
): Promise<TransactionResult> => {
  if (files === undefined) return runTransaction(path, transaction);
  const { session, signal } = transaction;
  const { append, remove } = files.delta;
  const written = append.map(({ name }) => name);
  const refused = await writeDeviceFiles(session, append, signal);
  const result: TransactionResult = refused
    ? {
        outcome: 'rejected',
        package: DEVICE_FILES,
        message: refused.message,
        sections: [refused.name],
      }
    : await runTransaction(path, transaction);
  if (result.outcome === 'rejected') {
    await removeDeviceFiles(session, written, signal);
    return result;
  }
  const unused = remove.filter((name) => !written.includes(name));
  await removeDeviceFiles(session, unused, signal);
  const user = result.states.get(USER_OF_FILES);
  if (unused.length > 0 && user !== undefined) await path.reload(session, user.content, signal);
  const content = applyDelta(files.base.content, files.delta);
  const state = { version: versionOf(content), content };
  return { ...result, states: new Map([...result.states, [DEVICE_FILES, state]]) };
};

/** What uses files is reloaded with them. */
export const apart = (
  deltas: readonly UciDelta[],
  held: ReadonlyMap<string, PackageState>,
): { files: UciDelta | undefined; others: readonly UciDelta[] } => {
  const files = deltas.find((delta) => delta.package === DEVICE_FILES);
  const others = deltas.filter((delta) => delta !== files);
  const isReloaded = others.some((delta) => delta.package === USER_OF_FILES);
  if (files === undefined || isReloaded || held.get(USER_OF_FILES)?.state !== 'read') {
    return { files, others };
  }
  const reload: UciDelta = { package: USER_OF_FILES, remove: [], set: [], append: [] };
  return { files, others: [...others, reload] };
};
