/** What an OpenWRT's IPsec service understands: both read package `ipsec`, each in its own way. */
import { OWN_FILES } from '#shared/resources/device-files.ts';
import { CERTIFICATE_FOLDERS } from '#shared/resources/rules/ipsec-certificates.ts';
import type { IpsecDialect, IpsecService } from '#shared/resources/capabilities.ts';
import { ask, method, rightText, type Right } from '../ubus/login/rights.ts';
import { UBUS_STATUS } from '../ubus/client/rpc.ts';
import type { UbusSession } from '../ubus/login/session.ts';

/** `text`: of the service's init script; undefined where the login may not read it. */
type Script = { dialect: IpsecDialect; path: string; text: string | undefined };

/** Where the login may not look: without certificates. */
export const ipsecServiceOf = async (
  session: UbusSession,
  script: Script,
  signal: AbortSignal,
): Promise<IpsecService> => ({
  dialect: script.dialect,
  settings: settingsOf(script),
  noCertificates:
    whyNotByScript(script) ?? (await whyNotByFolders(session, script.dialect, signal)),
});

/**
 * Until 25.12 swanctl's script goes through the sections of type `ipsec`; later ones look for
 * `globals`. A section of that name and that type is right for all, so it is asked for where
 * nothing is known.
 */
const settingsOf = ({ dialect, text }: Script): IpsecService['settings'] =>
  dialect === 'classic' || text?.includes('config_foreach config_ipsec ipsec') === true
    ? 'last'
    : 'globals';

/** OpenWRT's own classic script has only ever known psk; that of ICN's image reads certificates. */
const whyNotByScript = ({ dialect, path, text }: Script): string | undefined => {
  if (dialect === 'swanctl' || text?.includes('local_public_cert') === true) return undefined;
  return text === undefined
    ? `the login may not read ${path}, which would show whether it supports certificates`
    : `its ${path} supports psk only; swanctl and ICN's image support certificates`;
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
