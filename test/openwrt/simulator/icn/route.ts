/** Everything below /cgi-bin/luci: LuCI's login and ICN's REST, wired to a device. */
import type { Device } from '../device/device.ts';
import { SHELL_STAGING } from '../programs/uci.ts';
import type { Request, Route } from '../uhttpd/server.ts';
import type { Context } from './fields.ts';
import { answerPage, sessionOf } from './login.ts';
import { answerRest, REST_PATH } from './rest.ts';
import { struck } from './struck.ts';
import { IcnUci } from './uci.ts';

/** `calls`: every call of REST is added to it, as `METHOD path`. */
export const icnRoute = (device: Device, calls: string[]): Route => {
  const uci = new IcnUci({
    store: device.store,
    stagingDirectory: device.root.path(SHELL_STAGING),
    onConfigChange: device.configChanged,
  });
  const contextOf = (request: Request): Context => {
    const call = `${request.method} ${request.path.slice(REST_PATH.length)}`;
    return {
      uci,
      kernel: device.kernel,
      by: device.rpcd.causeOf(sessionOf(request) ?? '', call),
      path: (devicePath) => device.root.path(devicePath),
    };
  };
  const { bus, programs, services } = device;
  const deps = { contextOf, bus, programs, services };
  return {
    matches: (path) => /^\/cgi-bin\/luci(?:\/|$)/.test(path),
    maxBodyBytes: MAX_UPLOAD_BYTES,
    answer: (request) => {
      if (!request.path.startsWith(`${REST_PATH}/`))
        return struck(device, 'luci', request, () => answerPage(device.rpcd, request));
      calls.push(`${request.method} ${request.path.slice(REST_PATH.length + 1)}`);
      return struck(device, 'rest', request, () => answerRest(deps, request));
    },
  };
};

/** LuCI reads a body to its end and keeps the beginning. */
const MAX_UPLOAD_BYTES = 16 * 1024 * 1024;
