/** The container engines that can build images, as command lines. Nothing here runs anything. */

export type EngineName = 'docker' | 'podman' | 'buildah';

export type Build = {
  dockerfile: string;
  tag: string;
  base: string;
  /** The engine writes the image's id there. */
  idFile: string;
  buildArgs: Readonly<Record<string, string>>;
};

export type Engine = {
  name: EngineName;
  /** Succeeds where the engine can be used: a docker client without its daemon cannot. */
  probe: readonly string[];
  build: (build: Build) => readonly string[];
  pull: (image: string) => readonly string[];
  exists: (image: string) => readonly string[];
  /** Takes a docker-archive into the engine's store. */
  load: (archive: string) => readonly string[];
  /** Writes an image of the store as a docker-archive. The file must not exist. */
  save: (image: string, archive: string) => readonly string[];
};

const buildArguments = ({ dockerfile, tag, base, idFile, buildArgs }: Build): readonly string[] => [
  '--file',
  dockerfile,
  '--tag',
  tag,
  '--iidfile',
  idFile,
  ...Object.entries({ BASE: base, ...buildArgs }).flatMap(([name, value]) => [
    '--build-arg',
    `${name}=${value}`,
  ]),
  '.',
];

const docker = (name: 'docker' | 'podman'): Engine => ({
  name,
  probe: [name, 'version', '--format', '{{.Server.Version}}'],
  build: (build) => [name, 'build', ...buildArguments(build)],
  pull: (image) => [name, 'pull', '--quiet', image],
  exists: (image) => [name, 'image', 'inspect', image],
  load: (archive) => [name, 'load', '--quiet', '--input', archive],
  save: (image, archive) => [name, 'save', '--output', archive, image],
});

const buildah: Engine = {
  name: 'buildah',
  probe: ['buildah', '--version'],
  // chroot: works where no container may be started, as inside another container.
  build: (build) => [
    'buildah',
    'build',
    '--isolation',
    'chroot',
    '--layers',
    ...buildArguments(build),
  ],
  pull: (image) => ['buildah', 'pull', '--quiet', image],
  exists: (image) => ['buildah', 'inspect', '--type', 'image', image],
  load: (archive) => ['buildah', 'pull', '--quiet', `docker-archive:${archive}`],
  save: (image, archive) => [
    'buildah',
    'push',
    '--quiet',
    image,
    `docker-archive:${archive}:${image}`,
  ],
};

/** In the order in which they are tried. */
export const ENGINES: readonly Engine[] = [docker('docker'), docker('podman'), buildah];
