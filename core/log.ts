/** Fields of a log line. Never include a key, a token, a signature or a whole request. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Constant message, variable fields. Info is for an operator on night duty, debug for developers. */
export type Logger = {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds `fields` to each of its lines. */
  child(fields: LogFields): Logger;
};

export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLogger,
};
