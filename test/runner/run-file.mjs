// Jest's `testRunner`: runs one test file with jest-circus, as Jest's own does, but lets Node load the file and all that it imports.
// Jest would load everything anew for each file, in a context whose code starts cold and whose globals are slow to reach. That took
// longer than most files' tests. Files of one worker therefore share modules, which keep no state.
import { createRequire, registerHooks } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { setGlobals } from './globals.mjs';

// A quarter of the examples of every property that does not say how many it needs.
if (process.env['PAYMASTER_TEST_FAST'] !== undefined) fc.configureGlobal({ numRuns: 25 });

const require = createRequire(import.meta.url);
const circus = join(dirname(require.resolve('jest-circus/package.json')), 'build/jestAdapterInit.js');
const globalsUrl = new URL('globals.mjs', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals'
      ? { url: globalsUrl, format: 'module', shortCircuit: true }
      : next(specifier, context),
});

/** Resolves with Jest's `TestResult` of the file. Throws what the file throws while it is loaded. */
export default async function runFile(
  globalConfig,
  config,
  environment,
  runtime,
  testPath,
  sendMessageToJest,
) {
  const { initialize, runAndTransformResultsToJestFormat } = newCircus();
  globalThis[Symbol.for('TEST_TIMEOUT_SYMBOL')] = config.testTimeout;
  await initialize({
    config,
    environment,
    globalConfig,
    localRequire: require,
    parentProcess: process,
    runtime,
    sendMessageToJest,
    setGlobalsForRuntime: setGlobals,
    testPath,
  });
  await import(pathToFileURL(testPath).href);
  return runAndTransformResultsToJestFormat({ config, globalConfig, setupAfterEnvPerfStats: {}, testPath });
}

/** Its state is in its module, and its handlers are in a global. */
function newCircus() {
  delete globalThis[Symbol.for('EVENT_HANDLERS')];
  delete require.cache[circus];
  return require(circus);
}
