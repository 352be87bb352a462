import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';
import type { LogFields, Logger } from '../../core/log.js';
import { printableJson } from '../../core/terminal-text.js';
import { redactFields, redactText } from './redact.js';

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export type LoggerOptions = {
  /** Lines below this level are not written. Default `info`. */
  readonly level?: LogLevel;
  /** Fields of every line, e.g. the role of the process. */
  readonly base?: LogFields;
  /**
   * Secret texts of this process (tokens, master keys as hex). They are replaced wherever they occur in a line, in any
   * field. Texts shorter than 8 characters are ignored: they would blank ordinary words.
   */
  readonly secrets?: readonly string[];
  /** Where lines go. Default standard output, written synchronously, so that the last lines before a crash are kept. */
  readonly destination?: DestinationStream;
};

/**
 * JSON lines `{level, time, msg, …fields}` with the level as text and the time as RFC 3339. Values under names that
 * sound secret, and texts in the form of an apiKey or a signature, never reach the destination (see `redact.ts`).
 * Characters that a terminal obeys are escaped.
 */
export function createLogger(options: LoggerOptions = {}): Logger {
  const secrets = (options.secrets ?? []).filter((secret) => secret.length >= 8);
  const settings = {
    level: options.level ?? 'info',
    base: options.base === undefined ? null : redactFields(options.base),
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    hooks: { streamWrite: (line: string) => printableJson(redactText(line, secrets)) },
  };
  return wrap(pino(settings, options.destination ?? pino.destination({ fd: 1, sync: true })));
}

function wrap(log: PinoLogger): Logger {
  const write = (level: 'debug' | 'info' | 'warn' | 'error') => (message: string, fields?: LogFields) => {
    if (!log.isLevelEnabled(level)) return;
    if (fields === undefined) log[level](message);
    else log[level](redactFields(fields), message);
  };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (fields) => wrap(log.child(redactFields(fields))),
  };
}
