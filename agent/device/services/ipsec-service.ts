/** Which of the two IPsec services an OpenWRT has, and what its script understands: both read package `ipsec`, each in its own way. */
import * as z from 'zod';
import { OWN_FILES } from '#shared/resources/device-files.ts';
import { CERTIFICATE_FOLDERS } from '#shared/resources/rules/ipsec-certificates.ts';
import type { IpsecDialect, IpsecService } from '#shared/resources/kind.ts';
import { ask, method, rightText, type Right } from '../ubus/login/rights.ts';
import { UBUS_STATUS } from '../ubus/client/rpc.ts';
import type { UbusSession } from '../ubus/client/session.ts';

export const INIT_SCRIPTS = '/etc/init.d';
/** In the order of preference where both are installed, as on ICN's image. */
export const IPSEC_SCRIPTS: Readonly<Record<IpsecDialect, string>> = {
  classic: `${INIT_SCRIPTS}/ipsec`,
  swanctl: `${INIT_SCRIPTS}/swanctl`,
};
const listSchema = z.object({ entries: z.array(z.object({ name: z.string() })) });
const readSchema = z.object({ data: z.string() });

/** Where the login may not look: the classic service without certificates. */
export const ipsecServiceOf = async (
  session: UbusSession,
  signal: AbortSignal,
): Promise<IpsecService> => {
  const listing = { object: 'file', method: 'list', args: { path: INIT_SCRIPTS } };
  const [answer] = await session.attempt([listing], { signal });
  const { data } = listSchema.safeParse(answer?.data);
  const scripts = new Set(data?.entries.map(({ name }) => name));
  const dialect = scripts.has('swanctl') && !scripts.has('ipsec') ? 'swanctl' : 'classic';
  const reading = { object: 'file', method: 'read', args: { path: IPSEC_SCRIPTS[dialect] } };
  const [script] = await session.attempt([reading], { signal, bytes: true });
  const text = readSchema.safeParse(script?.data).data?.data;
  return {
    dialect,
    settings: settingsOf(dialect, text),
    noCertificates:
      whyNotByScript(dialect, text) ?? (await whyNotByFolders(session, dialect, signal)),
  };
};

/**
 * Until 25.12 swanctl's script goes through the sections of type `ipsec`; later ones look for `globals`. A section of that name and
 * that type is right for all, so it is asked for where nothing is known.
 */
const settingsOf = (dialect: IpsecDialect, script: string | undefined): IpsecService['settings'] =>
  dialect === 'classic' || script?.includes('config_foreach config_ipsec ipsec') === true
    ? 'last'
    : 'globals';

/** OpenWRT's own classic script has only ever known psk; that of ICN's image reads certificates. */
const whyNotByScript = (dialect: IpsecDialect, script: string | undefined): string | undefined => {
  if (dialect === 'swanctl' || script?.includes('local_public_cert') === true) return undefined;
  return script === undefined
    ? `the login may not read ${IPSEC_SCRIPTS.classic}, to see whether that takes them`
    : `its ${IPSEC_SCRIPTS.classic} takes psk only; swanctl and ICN's image take them`;
};

const whyNotByFolders = async (
  session: UbusSession,
  dialect: IpsecDialect,
  signal: AbortSignal,
): Promise<string | undefined> => {
  const folders = Object.values(CERTIFICATE_FOLDERS[dialect]);
  const needed = [
    ...['list', 'read', 'md5', 'write', 'remove'].map((name) => method('file', name)),
    ...folders.flatMap((folder): Right[] => [
      { scope: 'file', object: folder, function: 'list' },
      ...['read', 'write'].map((name): Right => ({
        scope: 'file',
        object: `${folder}/${OWN_FILES.prefix}${OWN_FILES.suffix}`,
        function: name,
      })),
    ]),
  ];
  const may = await ask(session, needed, signal);
  const lacking = needed.find((right) => !may(right));
  if (lacking) return `the login lacks the right: ${rightText(lacking)}`;
  const answers = await session.attempt(
    folders.map((path) => ({ object: 'file', method: 'list', args: { path } })),
    { signal },
  );
  const hidden = folders.findIndex((_, at) => answers[at]?.code !== 0);
  if (hidden === -1) return undefined;
  return answers[hidden]?.code === UBUS_STATUS.notFound
    ? `it has no folder ${folders[hidden]}`
    : `the login may not list ${folders[hidden]}`;
};
