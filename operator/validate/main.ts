import { SettingsError } from '../../core/settings.js';
import { printableLines } from '../../core/terminal-text.js';
import { usage, UsageError, validate } from './command.js';
import { UnreadablePath } from './read-files.js';

// Entry point of `make validate`: checks manifests as the operator would, and changes nothing.

try {
  const { output, exitCode } = await validate(process.argv.slice(2), process.env);
  process.stdout.write(`${output}\n`);
  process.exitCode = exitCode;
} catch (error) {
  const isMistake =
    error instanceof UsageError || error instanceof UnreadablePath || error instanceof SettingsError;
  if (!isMistake) throw error;
  process.stderr.write(
    `error: ${printableLines(error.message)}\n${error instanceof UsageError ? `${usage}\n` : ''}`,
  );
  process.exitCode = 2;
}
