import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { isDomainError } from '../core/errors.js';
import { SettingsError } from '../core/settings.js';
import { printableLines } from '../core/terminal-text.js';
import { findRoot } from '../standalone/root.js';
import { addChain } from './commands/chain.js';
import { addContract } from './commands/contract.js';
import { addDoctor } from './commands/doctor.js';
import { addExplain } from './commands/explain.js';
import { addExport } from './commands/export.js';
import { addLogin } from './commands/login.js';
import { addServerCommands } from './commands/server.js';
import { addSigner } from './commands/signer.js';
import { addStatus } from './commands/status.js';
import { addStore } from './commands/store.js';
import { addSuspend } from './commands/suspend.js';
import { addToken } from './commands/token.js';
import { addValidate } from './commands/validate.js';
import { addCompletion } from './completion.js';
import { Refused, type Terminal } from './terminal.js';

const exitCodes = `
Results go to stdout, messages to stderr. Exit code: 0 done, 1 refused or something found, 2 wrong usage, 3 unreachable.`;

/** Runs a command line and returns its exit code. */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    await createProgram(terminal).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    const code = exitCodeOf(error);
    if (code === undefined) throw error;
    // The library has shown its own errors.
    if (error instanceof Error && !(error instanceof CommanderError) && error.message !== '')
      terminal.error(`error: ${printableLines(error.message)}\n`);
    return code;
  }
}

function createProgram(terminal: Terminal): Command {
  const program = new Command('paymaster')
    // Options behind "token create" are those of that command: "token" would take its --expires-at and -o away.
    .enablePositionalOptions()
    .description('Runs paymasters: contracts, chains, manifests, and what is signed')
    .version(readVersion())
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.error })
    .helpCommand(false)
    .showHelpAfterError('(--help lists arguments and options)')
    .addHelpText('after', exitCodes);
  for (const [heading, adds] of Object.entries(groups)) {
    program.commandsGroup(heading);
    for (const add of adds) add(program, terminal);
  }
  return program;
}

/** Of the help, what a newcomer needs first. */
const groups: Readonly<Record<string, readonly ((program: Command, terminal: Terminal) => void)[]>> = {
  'How it is:': [addStatus, addDoctor],
  'Manifests:': [addValidate, addExplain, addExport],
  'Chains, contracts and keys:': [addChain, addContract, addSigner, addToken],
  'A server, by its API:': [addLogin, addServerCommands],
  'The store itself:': [addSuspend, addStore],
  'This program:': [addCompletion],
};

/** Undefined for a mistake of ours. */
function exitCodeOf(error: unknown): number | undefined {
  // A noun without a verb shows the help, and is wrong usage all the same.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof Refused) return 1;
  if (error instanceof SettingsError || isDomainError(error, 'INVALID_INPUT')) return 2;
  if (isDomainError(error, 'UNAVAILABLE') || isDomainError(error, 'RATE_LIMITED')) return 3;
  return isDomainError(error) ? 1 : undefined;
}

function readVersion(): string {
  const file = join(findRoot(import.meta.url), 'package.json');
  return String((JSON.parse(readFileSync(file, 'utf8')) as { readonly version: unknown }).version);
}
