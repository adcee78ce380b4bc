/**
 * The agent's program on a device, and the right to run it, as a login that the agent makes itself
 * has them.
 */
import { KERNEL_HELPER_PATH } from '#shared/inject/own-login-files.ts';
import { KERNEL_RIGHTS } from '../../../agent/openwrt/kernel/calls.ts';
import { HELPER_SCRIPT } from '../../../agent/openwrt/kernel/helper.ts';
import { ACL_GROUP } from '../../../agent/openwrt/ubus/login/acl.ts';

const RIGHTS_FILE = '/usr/share/rpcd/acl.d/sdewan-kernel-test.json';

/** Both are scripts to be run on the device. */
export const PUT_HELPER = `cat >${RIGHTS_FILE} <<'END'
${JSON.stringify({ [ACL_GROUP]: { description: 'SD-EWAN agent', ...KERNEL_RIGHTS } })}
END
cat >${KERNEL_HELPER_PATH} <<'END'
${HELPER_SCRIPT}
END
chmod 755 ${KERNEL_HELPER_PATH}
`;
export const REMOVE_HELPER = `rm -f ${RIGHTS_FILE} ${KERNEL_HELPER_PATH}\n`;
