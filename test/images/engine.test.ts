import { describe, expect, it } from 'vitest';

import { ENGINES } from './engine.ts';

const build = {
  dockerfile: 'Dockerfile.agent',
  tag: 'docker.io/library/agent:dev',
  base: 'local/base:1',
  idFile: 'id',
  buildArgs: { BUNDLE: 'prebuilt' },
};
const engine = (name: string) => {
  const found = ENGINES.find((candidate) => candidate.name === name);
  if (!found) throw new Error(`no engine ${name}`);
  return found;
};

describe('engine command lines', () => {
  it.each(['docker', 'podman', 'buildah'])(
    '%s builds from a Dockerfile with base and arguments',
    (name) => {
      const line = engine(name).build(build).join(' ');
      expect(line).toMatch(new RegExp(`^${name} build `));
      expect(line).toContain(
        '--file Dockerfile.agent --tag docker.io/library/agent:dev --iidfile id',
      );
      expect(line).toContain('--build-arg BASE=local/base:1 --build-arg BUNDLE=prebuilt .');
    },
  );

  it('a docker client without its daemon is not taken', () => {
    expect(engine('docker').probe).toContain('{{.Server.Version}}');
  });

  it('buildah needs no right to start containers', () => {
    expect(engine('buildah').build(build)).toContain('chroot');
  });

  it('buildah keeps the image name in the archive', () => {
    expect(engine('buildah').save('a:1', '/x/a.tar').at(-1)).toBe('docker-archive:/x/a.tar:a:1');
  });
});
