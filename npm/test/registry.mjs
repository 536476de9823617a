// A registry on this machine that serves the packed tarballs, so that `npm install sqlite-ltr` is what a user runs.

import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

/** Manifests and bytes of all tarballs of a folder, by name of package. */
function readPackages(folder) {
  const tarballs = readdirSync(folder).filter((file) => file.endsWith('.tgz'));
  return new Map(
    tarballs.map((file) => {
      const path = join(folder, file);
      const manifest = JSON.parse(execFileSync('tar', ['-xzOf', path, 'package/package.json'], { encoding: 'utf8' }));
      return [manifest.name, { file, manifest, bytes: readFileSync(path) }];
    }),
  );
}

/** What a registry answers about a package that has one version. */
function describe({ file, manifest, bytes }, origin) {
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  const dist = { tarball: `${origin}/-/${file}`, integrity };
  const { name, version } = manifest;
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } };
}

/**
 * Starts the registry with the packages of two folders; packages in the first replace packages in the second. Other packages do
 * not exist in it. Returns its address and `close`.
 */
export async function serve(folder, fallback) {
  const packages = new Map([...readPackages(fallback), ...readPackages(folder)]);
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url.slice(1));
    const tarball = [...packages.values()].find(({ file }) => path === `-/${file}`);
    if (tarball) return response.end(tarball.bytes);
    if (packages.has(path)) return response.end(JSON.stringify(describe(packages.get(path), origin)));
    response.writeHead(404).end('{}');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  return { origin, close: () => server.close() };
}
