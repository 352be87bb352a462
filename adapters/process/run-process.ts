import type { Logger } from '../../core/log.js';
import { SettingsError, settingsHelp, type SettingRows } from '../../core/settings.js';
import { printableLines } from '../../core/terminal-text.js';
import { createLogger, type LogLevel } from '../log/pino-logger.js';
import { aborted, createStopSignal } from './stop-signal.js';

/** A started process: how to stop it, and how it reports that it has failed. */
export type Running = {
  /** Resolves with the reason when the process can no longer do its work and should be restarted. */
  readonly failed: Promise<string>;
  /** Drains and stops everything; may be called twice. */
  readonly stop: () => Promise<void>;
};

type ProcessOptions<C extends { readonly logLevel: LogLevel }> = {
  /** In every log line. */
  readonly name: string;
  readonly parse: () => C;
  /** What `--help` prints, by title. */
  readonly settings: Readonly<Record<string, SettingRows>>;
  /** Must resolve soon after `signal` is aborted, also while a store cannot be reached. */
  readonly start: (config: C, log: Logger, signal: AbortSignal) => Promise<Running>;
};

/** A pod has 30 seconds by default; a process that has not drained by then would be killed without a log line. */
const maxStopMs = 25_000;

/**
 * The life of one process: settings → start → until SIGTERM, SIGINT or a failure → drain. Resolves with the exit code:
 * 0 after a signal or `--help`, 1 otherwise. A second Ctrl-C, half a second later or more, ends the process at once.
 */
export async function runProcess<C extends { readonly logLevel: LogLevel }>(
  options: ProcessOptions<C>,
): Promise<number> {
  if (process.argv.includes('--help')) {
    process.stdout.write(settingsHelp(options.name, options.settings));
    return 0;
  }
  const config = parse(options);
  if (config === undefined) return 1;
  const log = createLogger({ level: config.logLevel, base: { process: options.name } });
  const stopping = createStopSignal((signal) => log.info('stopping on a signal', { signal }));
  // An error that nobody awaits: the state is unknown, so the process is restarted instead of continuing.
  process.on('uncaughtException', (error) => {
    log.error('uncaught exception', { error });
    process.exit(1);
  });

  let running: Running;
  try {
    running = await options.start(config, log, stopping);
  } catch (error) {
    if (stopping.aborted) return 0;
    log.error('the start failed', { error });
    return 1;
  }
  const reason = await Promise.race([aborted(stopping), running.failed]);
  if (reason !== undefined) log.error('stopping', { reason });
  setTimeout(() => process.exit(1), maxStopMs).unref();
  await running.stop();
  log.info('stopped');
  return reason === undefined ? 0 : 1;
}

function parse<C>({ parse: read }: { readonly parse: () => C }): C | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    for (const line of printableLines(error.message).split('\n')) process.stderr.write(`error: ${line}\n`);
    return undefined;
  }
}
