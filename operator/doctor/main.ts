import { createChains } from '../../adapters/chain/chains.js';
import { formatManifestProblem } from '../../adapters/manifests/manifest-problem.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import type { ChainSpec } from '../../core/resources/chain.js';
import { validateResource } from '../../core/resources/validate.js';
import { printable, printableLines } from '../../core/terminal-text.js';
import { systemClock } from '../../core/units/time.js';
import { readFiles, UnreadablePath } from '../validate/read-files.js';
import { doctor } from './doctor.js';

// Entry point of `make chain-doctor`: compares the Chain of a manifest with a node, which is only read. The exit code is 0 when nothing is
// wrong (notes are fine), 1 when something is, 2 when it cannot judge.

class UsageError extends Error {}

try {
  const [file, url] = process.argv.slice(2);
  if (file === undefined || url === undefined) throw new UsageError('usage: doctor FILE URL');
  const spec = readChain(file);
  const chains = createChains({
    log: silentLogger,
    clock: systemClock,
    metrics: noMetrics,
    timeoutMs: 10_000,
  });
  const { found, yaml } = await doctor(
    chains.get({ chainId: spec.chainId, rpc: { ...spec.rpc, urls: [url] } }),
    spec,
  ).finally(() => chains.stop());
  const lines = found.map(
    ({ level, field, message }) => `${level.padEnd(7)} ${field}: ${printable(message)}\n`,
  );
  process.stderr.write(lines.length === 0 ? 'nothing found\n' : lines.join(''));
  process.stdout.write(yaml);
  process.exitCode = found.some(({ level }) => level !== 'note') ? 1 : 0;
} catch (error) {
  if (!(error instanceof UsageError || error instanceof UnreadablePath)) throw error;
  process.stderr.write(`error: ${printableLines(error.message)}\n`);
  process.exitCode = 2;
}

/** The only Chain of the file; its schema has been checked. */
function readChain(file: string): ChainSpec {
  const { objects, problems } = readFiles([file]);
  const [chain, ...others] = objects.filter(({ kind }) => kind === 'Chain');
  if (chain === undefined || others.length > 0) throw new UsageError(`${file} must hold one Chain`);
  const wrong = validateResource('Chain', { metadata: chain.key, spec: chain.spec }).map(chain.locate);
  const [first] = [...problems, ...wrong];
  if (first !== undefined) throw new UsageError(formatManifestProblem(first));
  return chain.spec as unknown as ChainSpec;
}
