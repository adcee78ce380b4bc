import { describe, expect, it } from 'vitest';
import { archiveName, isArchive, krewManifest } from './manifest.ts';

describe('the manifest for krew', () => {
  it('names each archive with its platform, checksum and program', () => {
    const archives = [
      { file: archiveName('win32', 'x64'), sha256: 'b' },
      { file: archiveName('linux', 'arm64'), sha256: 'a' },
    ];
    const url = 'https://example.org/1';
    expect(krewManifest({ version: '1.2.3', url, archives })).toMatchObject({
      kind: 'Plugin',
      metadata: { name: 'sdewan' },
      spec: {
        version: 'v1.2.3',
        platforms: [
          {
            selector: { matchLabels: { os: 'linux', arch: 'arm64' } },
            uri: 'https://example.org/1/kubectl-sdewan_linux_arm64.tar.gz',
            sha256: 'a',
            bin: 'kubectl-sdewan',
          },
          {
            selector: { matchLabels: { os: 'windows', arch: 'amd64' } },
            sha256: 'b',
            bin: 'kubectl-sdewan.exe',
          },
        ],
      },
    });
  });

  it.each(['sdewan.yaml', 'kubectl-sdewan', 'kubectl-sdewan_plan9_amd64.tar.gz'])(
    'leaves %s out',
    (file) => {
      expect(isArchive(file)).toBe(false);
      const archives = [{ file, sha256: 'a' }];
      expect(() => krewManifest({ version: '1.0.0', url: 'u', archives })).toThrow('no archive');
    },
  );

  it('is none for a platform that krew does not know', () => {
    expect(() => archiveName('aix', 'ppc64')).toThrow('no archive for aix on ppc64');
  });
});
