import { expect, it } from 'vitest';
import { cgroupDirectory } from './access.ts';

const pod = '/kth-1/kubepods/pod2';

it.each([
  ['version 1', `4:memory:${pod}\n1:cpu:${pod}\n`, '/sys/fs/cgroup/memory'],
  ['several controllers in one', `3:cpu,memory:${pod}\n`, '/sys/fs/cgroup/cpu,memory'],
  ['version 1 beside an empty version 2', `4:memory:${pod}\n0::/\n`, '/sys/fs/cgroup/memory'],
  ['version 2', `0::${pod}\n`, '/sys/fs/cgroup'],
])('knows the control group on %s', (_version, membership, folder) => {
  expect(cgroupDirectory(membership, 'memory')).toBe(`${folder}${pod}`);
});
