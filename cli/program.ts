import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { isDomainError } from '../core/errors.js';
import { SettingsError } from '../core/settings.js';
import { printableLines } from '../core/terminal-text.js';
import { findRoot } from '../standalone/root.js';
import { readEndpoints, type ApiEndpoint } from './api/endpoints.js';
import { completionLines, listCommand, type Listed } from './command-list.js';
import { helpAsked, renderHelp } from './help-page.js';
import { Refused, type Terminal } from './terminal.js';

const exitCodes = `
Results go to stdout, messages to stderr. Exit code: 0 done, 1 refused or something found, 2 wrong usage, 3 unreachable.
Whatever deletes, or sends a transaction, does it with --yes alone.`;

/** What the build has found out about all commands. */
export type Known = { readonly program: Listed; readonly endpoints: readonly ApiEndpoint[] };

/** Runs a command line and returns its exit code. `known`: loads only what the command needs; without it everything. */
export async function runCommand(
  args: readonly string[],
  terminal: Terminal,
  known?: Known,
): Promise<number> {
  const asked = known && helpAsked(known.program, args);
  if (asked !== undefined) {
    terminal.out(renderHelp(asked));
    return 0;
  }
  try {
    await (await createProgram(terminal, args[0], known)).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    const code = findExitCode(error);
    if (code === undefined) throw error;
    // The library has shown its own errors.
    if (error instanceof Error && !(error instanceof CommanderError) && error.message !== '')
      terminal.error(`error: ${printableLines(error.message)}\n`);
    return code;
  }
}

async function createProgram(
  terminal: Terminal,
  noun: string | undefined,
  known: Known | undefined,
): Promise<Command> {
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
  if (known === undefined) return addAll(program, terminal);
  const found = known.program.commands.find(({ name }) => name === noun);
  if (found === undefined) return addNames(program, known.program);
  for (const at of found.rows ?? []) {
    const add = await commandRows[at]?.[1]();
    add?.(program, terminal, known.endpoints);
  }
  return program;
}

async function addAll(program: Command, terminal: Terminal): Promise<Command> {
  const rows = new Map<string, readonly number[]>();
  const endpoints = await readEndpoints();
  for (const [at, [heading, load]] of commandRows.entries()) {
    const before = new Map(program.commands.map((each) => [each.name(), each.commands.length]));
    program.commandsGroup(heading);
    (await load())(program, terminal, endpoints);
    for (const each of program.commands)
      if (before.get(each.name()) !== each.commands.length)
        rows.set(each.name(), [...(rows.get(each.name()) ?? []), at]);
  }
  program
    .command('complete [words...]', { hidden: true })
    .action((words: readonly string[]) => terminal.out(completionLines(listCommand(program), words)));
  program
    .command('known', { hidden: true })
    .action(() =>
      terminal.out(JSON.stringify({ program: listCommand(program, rows), endpoints } satisfies Known)),
    );
  return program;
}

/** Names alone: enough for help, and to suggest the nearest command for a misspelt one. */
function addNames(program: Command, { commands }: Listed): Command {
  const terms = new Map(commands.map(({ name, term }) => [name, term]));
  program.configureHelp({ subcommandTerm: (each) => terms.get(each.name()) ?? each.name() });
  for (const { name, description, heading } of commands)
    program.command(name).description(description).helpGroup(heading);
  return program;
}

type Add = (program: Command, terminal: Terminal, endpoints: readonly ApiEndpoint[]) => void;

/** In the order of the help, each with its heading: what a newcomer needs comes first. */
const commandRows: readonly (readonly [heading: string, load: () => Promise<Add>])[] = [
  ['How it is:', async () => (await import('./commands/status.js')).addStatus],
  ['How it is:', async () => (await import('./commands/doctor.js')).addDoctor],
  ['Manifests:', async () => (await import('./commands/validate.js')).addValidate],
  ['Manifests:', async () => (await import('./commands/explain.js')).addExplain],
  ['Manifests:', async () => (await import('./commands/export.js')).addExport],
  ['Manifests:', async () => (await import('./commands/apply.js')).addApply],
  ['Chains, contracts and keys:', async () => (await import('./commands/chain.js')).addChain],
  ['Chains, contracts and keys:', async () => (await import('./commands/contract.js')).addContract],
  ['Chains, contracts and keys:', async () => (await import('./commands/signer.js')).addSigner],
  ['Chains, contracts and keys:', async () => (await import('./commands/token.js')).addToken],
  ['A server, by its API:', async () => (await import('./commands/login.js')).addLogin],
  ['A server, by its API:', async () => (await import('./commands/server.js')).addServerCommands],
  ['The store itself:', async () => (await import('./commands/suspend.js')).addSuspend],
  ['The store itself:', async () => (await import('./commands/store.js')).addStore],
  ['This program:', async () => (await import('./completion.js')).addCompletion],
];

/** Undefined for a mistake of ours. */
function findExitCode(error: unknown): number | undefined {
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
