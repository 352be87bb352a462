import { resolve } from 'node:path';
import { printableLines } from '../../core/terminal-text.js';
import { findRoot } from '../root.js';
import { status, StatusError } from './command.js';

// Entry point of `make status`: asks the running instance of the data directory.

const directory = resolve(
  process.env['PAYMASTER_DATA_DIR'] || resolve(findRoot(import.meta.url), '.paymaster'),
);
try {
  process.stdout.write(`${await status(directory, { json: process.argv.includes('--json') })}\n`);
} catch (error) {
  if (!(error instanceof StatusError)) throw error;
  process.stderr.write(`error: ${printableLines(error.message)}\n`);
  process.exitCode = 1;
}
