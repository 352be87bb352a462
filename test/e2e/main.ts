import { startReachableChain } from './chain.js';
import { parseE2eConfig, type E2eConfig } from './config.js';
import { createReport, StepFailed } from './report.js';
import { runDisturbances } from './disturb/scenario.js';
import { removeEverything, runScenario } from './scenario.js';
import { createTools } from './tools.js';

// Entry point of `make e2e` and, with the argument `disturb`, of `make e2e-disturb`: installs the charts on the cluster of the
// current context and drives them.

process.exitCode = await main();

async function main(): Promise<number> {
  let config: E2eConfig;
  try {
    config = parseE2eConfig(process.env);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  }
  const report = createReport(
    (line) => process.stdout.write(`${line}\n`),
    () => performance.now(),
  );
  const tools = createTools(config);
  const version = await tools.kubectl(['version', '-o=json']);
  const server = /"serverVersion"[^}]*"gitVersion": "([^"]+)"/s.exec(version)?.[1] ?? 'unknown';
  process.stdout.write(`Kubernetes ${server}, image ${config.image.repository}:${config.image.tag}\n`);
  await removeEverything(tools);
  const chain = await startReachableChain(config.chainHost);
  try {
    const scenario = process.argv[2] === 'disturb' ? runDisturbances : runScenario;
    await scenario({ config, tools, report, chain });
    if (!config.keep) await removeEverything(tools);
  } catch (error) {
    // A failed step was printed; what is installed stays, to be looked at, until the next run.
    if (!(error instanceof StepFailed)) throw error;
  } finally {
    await chain.stop();
  }
  const { passed, failed, skipped } = report.totals();
  process.stdout.write(`\ne2e: ${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  return failed === 0 ? 0 : 1;
}
