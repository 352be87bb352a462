// Packs images as docker-archives without Docker, for clusters that load images from files: what the Dockerfile makes,
// but from this machine's build, with the pinned Node.js and the system libraries that it needs.
//
//   node hack/image/pack.mjs operator NAME:TAG OUT.tar      after `make build`
//   node hack/image/pack.mjs dev-chain NAME:TAG OUT.tar     the dev chain for a trial in a cluster
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sameBytes } from '../tar.mjs';
import { packagesOfImage } from './packages.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const [what, tag, output] = process.argv.slice(2);
const fillers = { operator: fillOperator, 'dev-chain': fillDevChain };
const fill = Object.hasOwn(fillers, what ?? '') ? fillers[what] : undefined;
if (fill === undefined || tag === undefined || output === undefined) {
  console.error('usage: node hack/image/pack.mjs operator|dev-chain NAME:TAG OUT.tar');
  process.exit(2);
}

const work = mkdtempSync(join(tmpdir(), 'paymaster-image-'));
try {
  const rootfs = join(work, 'rootfs');
  makeBase(rootfs);
  const config = fill(rootfs);
  pack(rootfs, config);
  console.log(`${output}: ${tag}, ${Math.round(statSync(output).size / 1024 / 1024)} MiB`);
} finally {
  rmSync(work, { recursive: true, force: true });
}

function fillOperator(rootfs) {
  // The npm package's binary, which is what the tests ran with.
  addBinary(rootfs, realpathSync(join(root, 'node_modules/node/bin/node')), '/usr/local/bin/node');
  copy(join(root, 'hack/image/paymaster'), join(rootfs, 'usr/local/bin/paymaster'));
  const app = join(rootfs, 'app');
  for (const part of [
    'dist/bin',
    'dist/console',
    'contracts/artifacts',
    'examples/quickstart',
    'examples/first',
    'package.json',
    'LICENSE',
    'NOTICE',
  ])
    copy(join(root, part), join(app, part));
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  for (const path of packagesOfImage(lock)) copy(join(root, path), join(app, path));
  return {
    Entrypoint: ['node', '--no-warnings'],
    Cmd: ['dist/bin/server.js'],
    Env: ['PATH=/usr/local/bin:/usr/bin', 'NODE_ENV=production'],
    WorkingDir: '/app',
    User: '1000:1000',
    StopSignal: 'SIGTERM',
  };
}

/** The image of the operator, and what the chain needs besides: anvil and the sources of the contracts it deploys. */
function fillDevChain(rootfs) {
  const config = fillOperator(rootfs);
  const anvil = `@foundry-rs/anvil-linux-${process.arch === 'x64' ? 'amd64' : process.arch}`;
  for (const name of [
    'aa06',
    'aa07',
    'aa08',
    'aa09',
    'hardhat-predeploy',
    '@pimlico/mock-paymaster',
    anvil,
  ]) {
    const path = join('node_modules', name);
    copy(join(root, path), join(rootfs, 'app', path));
  }
  addBinary(rootfs, join(root, 'node_modules', anvil, 'bin/anvil'), `/app/node_modules/${anvil}/bin/anvil`);
  return {
    ...config,
    Cmd: ['dist/bin/dev-chain.js'],
    Env: [...config.Env, 'HOST=0.0.0.0'],
  };
}

function makeBase(rootfs) {
  for (const folder of ['etc', 'tmp', 'proc', 'sys', 'dev', 'var', 'run'])
    mkdirSync(join(rootfs, folder), { recursive: true });
  execFileSync('chmod', ['1777', join(rootfs, 'tmp')]);
  writeFileSync(
    join(rootfs, 'etc/passwd'),
    'root:x:0:0:root:/:/sbin/nologin\nnode:x:1000:1000:node:/tmp:/sbin/nologin\n',
  );
  writeFileSync(join(rootfs, 'etc/group'), 'root:x:0:\nnode:x:1000:\n');
  writeFileSync(join(rootfs, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  const authorities = '/etc/ssl/certs/ca-certificates.crt';
  if (existsSync(authorities)) copy(authorities, join(rootfs, authorities));
}

/** The binary, and every library that the loader would look for. */
function addBinary(rootfs, binary, path) {
  copy(binary, join(rootfs, path));
  const listed = execFileSync('ldd', [binary], { encoding: 'utf8' });
  for (const [library] of listed.matchAll(/\/[^ \n]+(?= \(0x)/g))
    copy(realpathSync(library), join(rootfs, library));
  // Loaded by name when host names are looked up, so that ldd does not see them.
  for (const library of ['libnss_dns.so.2', 'libresolv.so.2']) {
    const file = `/lib/x86_64-linux-gnu/${library}`;
    if (existsSync(file)) copy(realpathSync(file), join(rootfs, file));
  }
}

function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, { recursive: true, dereference: true });
}

function pack(rootfs, config) {
  // Others must be able to read what the image's user is not the owner of.
  execFileSync('chmod', ['-R', 'go+rX', rootfs]);
  const tar = (folder, file, names) =>
    execFileSync('tar', [...sameBytes, '-C', folder, '-cf', file, ...names]);
  tar(rootfs, join(work, 'layer.tar'), ['.']);
  const digest = execFileSync('sha256sum', [join(work, 'layer.tar')], { encoding: 'utf8' }).slice(0, 64);
  const image = JSON.stringify({
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    created: '1970-01-01T00:00:00Z',
    config,
    rootfs: { type: 'layers', diff_ids: [`sha256:${digest}`] },
    history: [{ created: '1970-01-01T00:00:00Z', created_by: 'hack/image/pack.mjs' }],
  });
  const name = `${createHash('sha256').update(image).digest('hex')}.json`;
  writeFileSync(join(work, name), image);
  writeFileSync(
    join(work, 'manifest.json'),
    JSON.stringify([{ Config: name, RepoTags: [tag], Layers: ['layer.tar'] }]),
  );
  mkdirSync(dirname(output), { recursive: true });
  tar(work, output, ['manifest.json', name, 'layer.tar']);
}
