import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const root = join(folder, '..', '..');

/** Development keys of every anvil chain that nothing else here uses. */
const executorKey = '0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba';
const utilityKey = '0x92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e';

/** Folder of the alto of `make run BUNDLER=1`. */
const altoOfRun = join(root, 'hack/bundler');
/** Folder of another one. */
const { TEST_ALTO: otherAlto } = process.env;

/** Starts the standalone command with separate data and without a bundler. Answers the content of its connection.json. */
export function startService() {
  return startStandalone('0');
}

/** A copy of the quickstart's manifests in a new folder; its Paymaster has these lines of YAML below `spec`. Answers the folder. */
export function manifestsWith(lines) {
  const directory = mkdtempSync(join(tmpdir(), 'paymaster-manifests-'));
  cpSync(join(root, 'examples/quickstart'), directory, { recursive: true });
  const file = join(directory, 'paymaster.yaml');
  const isReplaced = (line) => lines.some((other) => line.startsWith(`  ${other.split(':')[0]}:`));
  const kept = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => !isReplaced(line));
  writeFileSync(file, [...kept, ...lines.map((line) => `  ${line}`), ''].join('\n'));
  return directory;
}

async function startStandalone(bundler, environment = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'paymaster-clients-'));
  const child = start(join(root, 'dist/bin/standalone.js'), [], {
    PORT: String(await freePort()),
    PAYMASTER_DATA_DIR: directory,
    BUNDLER: bundler,
    ...environment,
  });
  const file = join(directory, 'connection.json');
  await until('the service', child, () => existsSync(file));
  return {
    directory,
    connection: JSON.parse(readFileSync(file, 'utf8')),
    async stop() {
      await end(child);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Service, with this in its environment, and bundler together, and what stops both; fails when one of them does not start. */
export async function startBundledService(environment = {}) {
  if (otherAlto !== undefined) return startWithAlto(otherAlto, { environment });
  const service = await startStandalone('1', environment);
  const [bundlerUrl] = service.connection.bundlers;
  return { facts: service.connection, bundlerUrl, stop: service.stop };
}

/**
 * The same with the bundler as another process, which gets `options` besides. `prepare` gets the service's
 * connection.json before the bundler starts.
 */
export async function startWithAlto(folderOfAlto = altoOfRun, { environment, options, prepare } = {}) {
  const service = await startStandalone('0', environment);
  try {
    await prepare?.(service.connection);
    const bundler = await startBundler(folderOfAlto, service.connection, options);
    const stop = async () => {
      await bundler.stop();
      await service.stop();
    };
    // Behind the paymasters' addresses, as `make run BUNDLER=1` puts it.
    writeFileSync(join(service.directory, 'chains/dev-bundlers'), bundler.url);
    const facts = { ...service.connection, bundlers: [bundler.url] };
    return { facts, bundlerUrl: bundler.url, stop };
  } catch (error) {
    await service.stop();
    throw error;
  }
}

/** Starts alto for all EntryPoints of the dev chain. Its safe mode needs a tracer that anvil lacks. */
async function startBundler(folderOfAlto, { chainRpcUrl, versions }, more = {}) {
  const port = await freePort();
  const entryPoints = [...new Set(versions.map(({ entryPoint }) => entryPoint))];
  const options = {
    'rpc-url': chainRpcUrl,
    port,
    entrypoints: entryPoints.join(','),
    'executor-private-keys': executorKey,
    'utility-private-key': utilityKey,
    'min-executor-balance': '1000000000000000000',
    'safe-mode': 'false',
    'api-version': 'v1,v2',
    ...more,
  };
  const values = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = start(join(folderOfAlto, 'node_modules/@pimlico/alto/esm/cli/alto.js'), ['run', ...values], {
    OTEL_SDK_DISABLED: 'true',
  });
  const url = `http://127.0.0.1:${port}/rpc`;
  await until('alto', child, () => answers(url));
  return { url, stop: () => end(child) };
}

function start(script, values, environment) {
  const child = spawn(process.execPath, ['--no-warnings', script, ...values], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => (child.output = `${child.output}${chunk}`.slice(-4_000)));
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

async function until(what, child, isReady) {
  const deadline = Date.now() + 60_000;
  while (!(await isReady())) {
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error(`${what} did not start:\n${child.output}`);
    await sleep(100);
  }
}

async function answers(url) {
  try {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_supportedEntryPoints', params: [] });
    const headers = { 'content-type': 'application/json' };
    return (await fetch(url, { method: 'POST', headers, body })).ok;
  } catch {
    return false;
  }
}

async function end(child) {
  if (child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const forced = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await ended;
  clearTimeout(forced);
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
