#!/usr/bin/env node
// Writes two npm packages (tarballs) into a folder: `sqlite-ltr`, and the package with the library for one platform.
//
//   node npm/build.mjs --library PATH --platform linux-x64 --version "$(packaging/version)" --notices DIR --out DIR [--repository URL]
//
// Platforms: packaging/platforms.json. All notices go with the library, the licenses into both.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const here = import.meta.dirname;
const platforms = readJson(join(here, '../packaging/platforms.json'));

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

function fail(message) {
  console.error(`npm/build.mjs: ${message}`);
  process.exit(2);
}

function options() {
  const names = ['library', 'platform', 'version', 'notices', 'out'];
  const known = [...names, 'repository'].map((name) => [name, { type: 'string' }]);
  const { values } = parseArgs({ options: Object.fromEntries(known) });
  for (const name of names) if (!values[name]) fail(`--${name} is missing`);
  if (!(values.platform in platforms)) {
    fail(`unknown platform '${values.platform}'; the platforms are ${Object.keys(platforms).join(', ')}`);
  }
  return values;
}

/** The package `sqlite-ltr`: the files of its folder, this version, and all platform packages of this version. */
function writeMain(folder, version, shared) {
  cpSync(join(here, 'sqlite-ltr'), folder, { recursive: true });
  cpSync(join(here, 'README.md'), join(folder, 'README.md'));
  const packages = Object.keys(platforms).map((platform) => [`sqlite-ltr-${platform}`, version]);
  return { ...shared, version, optionalDependencies: Object.fromEntries(packages) };
}

/** The package of one platform: the library, which is also its `main`, so that `require.resolve` finds it. */
function writePlatform(folder, version, shared, platform, library) {
  const { os, cpu, libc, library: main } = platforms[platform];
  mkdirSync(folder);
  cpSync(library, join(folder, main));
  const { keywords, license, repository } = shared;
  const about = `The library of sqlite-ltr for ${platform}`;
  writeFileSync(join(folder, 'README.md'), `${about}. Install the package sqlite-ltr, which needs it.\n`);
  return {
    name: `sqlite-ltr-${platform}`,
    version,
    description: about,
    keywords,
    license,
    repository,
    main,
    os: [os],
    cpu: [cpu],
    ...(libc && { libc: [libc] }),
    // Yarn would keep the package in a zip file, where the system cannot load the library.
    preferUnplugged: true,
  };
}

/** Writes package.json and those notices whose names match, and packs the folder. */
function pack(folder, manifest, notices, pattern, out) {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const name of readdirSync(notices).filter((name) => pattern.test(name))) cpSync(join(notices, name), join(folder, name));
  execFileSync('npm', ['pack', '--silent', '--pack-destination', out], { cwd: folder, shell: process.platform === 'win32' });
  console.log(join(out, `${manifest.name}-${manifest.version}.tgz`));
}

const { library, platform, version, repository, ...folders } = options();
const [notices, out] = [resolve(folders.notices), resolve(folders.out)];
// npm refuses provenance for a package without the address of its repository.
const address = repository && { repository: { type: 'git', url: `git+${repository}.git` } };
const shared = { ...readJson(join(here, 'sqlite-ltr/package.json')), ...address };
const work = mkdtempSync(join(tmpdir(), 'sqlite-ltr-npm-'));
mkdirSync(out, { recursive: true });
const [main, binary] = [join(work, 'main'), join(work, 'platform')];
pack(main, writeMain(main, version, shared), notices, /^LICENSE-/, out);
pack(binary, writePlatform(binary, version, shared, platform, library), notices, /./, out);
rmSync(work, { recursive: true });
