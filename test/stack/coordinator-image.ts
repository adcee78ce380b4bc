/**
 * What the image of the coordinator holds, on a kubelet that runs no `command`: its two programs. The coordinator takes no arguments, the
 * CLI always has some.
 *
 *   node test/stack/coordinator-image.ts COORDINATOR [ARGUMENTS OF THE CLI…]
 */
import path from 'node:path';

const CLI = path.resolve(import.meta.dirname, '../../coordinator/cli/main.ts');
const [coordinator = ''] = process.argv.splice(2, 1);
await import(process.argv.length > 2 ? CLI : coordinator);
