import type { Running } from '../adapters/process/run-process.js';
import { aborted, createStopSignal } from '../adapters/process/stop-signal.js';
import { parseStandaloneConfig, type StandaloneConfig } from './config.js';
import { createConsole } from './console.js';
import { findRoot } from './root.js';
import { startStandalone } from './standalone.js';
import { StartError } from './start-error.js';
import { errorMessage } from '../core/errors.js';
import { printableLines } from '../core/terminal-text.js';

// Entry point of `make run`: environment → configuration → everything in one process, until a signal.

const console = createConsole((text) => process.stdout.write(text), Date.now);

process.exitCode = await main();

async function main(): Promise<number> {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < 24)
    return fail(
      `Node.js 24 is needed, this is ${process.version}: start with "make run", which uses the pinned one`,
    );

  let config: StandaloneConfig;
  try {
    config = parseStandaloneConfig(process.env, findRoot(import.meta.url));
  } catch (error) {
    return fail(errorMessage(error));
  }

  const stopping = createStopSignal();
  let running: Running;
  try {
    running = await startStandalone(config, console, stopping);
  } catch (error) {
    if (stopping.aborted) return 0;
    if (error instanceof StartError) return fail(error.message);
    const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(`${printableLines(trace)}\n`);
    return fail('the start failed unexpectedly (see above)');
  }

  const reason = await Promise.race([aborted(stopping), running.failed]);
  console.line();
  const done = console.step('Stopping');
  await running.stop();
  done('drained');
  return reason === undefined ? 0 : fail(reason);
}

function fail(message: string): number {
  for (const line of printableLines(message).split('\n')) process.stderr.write(`error: ${line}\n`);
  return 1;
}
