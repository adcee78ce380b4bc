/** The agent's program that looks into the kernel (`agent/device/kernel/helper.ts`), where it is mounted: the same verbs, files and words. */
import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { writeBytes } from '../bytes.ts';
import type { DeviceRoot } from '../root.ts';
import type { UciStore } from '../uci/store.ts';
import type { Fw4 } from './fw4.ts';
import type { Netifd } from './netifd.ts';
import { complained, printed, type Program, type ProgramResult } from './runner.ts';

/** Where the kubelet mounts it. */
export const KERNEL_HELPER_PATH = '/usr/share/rpcd/sdewan-kernel.sh';
const FOUND = '/tmp/sdewan-kernel/found';

type Deps = { root: DeviceRoot; store: UciStore; fw4: Fw4; netifd: Netifd };

export const createKernelHelper = ({ root, store, fw4, netifd }: Deps): Program => {
  const leave = (text: string, before = ''): ProgramResult => {
    mkdirSync(dirname(root.path(FOUND)), { recursive: true });
    writeBytes(root.path(FOUND), text);
    const hash = createHash('md5').update(text, 'latin1').digest('hex');
    return printed(`${before}${hash}  ${FOUND}\n`);
  };
  return ({ params }) => {
    switch (params.join(' ')) {
      case 'state': {
        const table = fw4.nft.isLoaded ? 'table inet fw4 {\n' : '';
        const hasOurs = store.text('network')?.includes('sdewan_') === true;
        return hasOurs ? leave(routing(netifd), table) : printed(table);
      }
      case 'dump':
        return leave(fw4.nft.listed());
      case 'restore-routes':
        netifd.restore();
        return printed('');
      default:
        return complained(2, '');
    }
  };
};

const routing = (netifd: Netifd): string => {
  const { routes, inet, inet6 } = netifd.shown();
  return [...routes, 'inet', ...inet, 'inet6', ...inet6, ''].join('\n');
};
