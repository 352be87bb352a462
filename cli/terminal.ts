import { readFileSync } from 'node:fs';
import { Option, type Command } from 'commander';
import { DomainError, errorMessage } from '../core/errors.js';
import { printable, printableJson, printableLines } from '../core/terminal-text.js';
import { renderYaml } from '../adapters/manifests/yaml.js';

/** What a command uses of the process. */
export type Terminal = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Data, and nothing else: programs read them. */
  readonly out: (text: string) => void;
  /** Messages for people. */
  readonly error: (text: string) => void;
  /** A secret: a line of the terminal, without echo, or all of stdin where that is not a terminal. */
  readonly readSecret: (prompt: string) => Promise<string>;
  /** Begins a screen anew, where stdout is a terminal. */
  readonly clear?: string;
  /** Ends what goes on until then. */
  readonly stopped?: AbortSignal;
};

/** Exit code 1: something was found, or the command refuses. Without a message the reason has been shown already. */
export class Refused extends Error {
  constructor(message = '') {
    super(message);
    this.name = 'Refused';
  }
}

const formats = ['table', 'wide', 'json', 'yaml'] as const;
export type Format = (typeof formats)[number];

/** A result for people, and the same for programs. */
export type Result = { readonly text: string; readonly data: Readonly<Record<string, unknown>> };

/** Adds `-o`, with which `show` is told the form. */
export function withFormat(command: Command): Command {
  return command.addOption(
    new Option('-o, --output <format>', 'form of the result; wide: a table with ids')
      .choices(formats)
      .default('table'),
  );
}

export function show(terminal: Pick<Terminal, 'out'>, format: Format, { text, data }: Result): void {
  switch (format) {
    case 'table':
    case 'wide':
      return terminal.out(`${printableLines(text)}\n`);
    case 'json':
      return terminal.out(`${printableJson(JSON.stringify(data, null, 2))}\n`);
    case 'yaml':
      return terminal.out(renderYaml(data));
    default:
      return format satisfies never;
  }
}

/** An option that may be given several times. */
export function withList(command: Command, flags: string, text: string): Command {
  return command.addOption(
    new Option(flags, `${text}; may be repeated`).argParser(collect).default([], 'none'),
  );
}

/** The text of a file; `-` is stdin. Throws INVALID_INPUT. */
export function readInput(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (cause) {
    throw new DomainError('INVALID_INPUT', `${file} cannot be read: ${errorMessage(cause)}`, { cause });
  }
}

export function say(terminal: Terminal, message: string): void {
  terminal.error(`${printable(message)}\n`);
}

/** Adds `--yes`. Whatever deletes or sends a transaction does it with that alone; without it throws {@link unlessYes}. */
export function withYes(
  command: Command,
  text = 'do it; without it only what would be done is shown',
): Command {
  return command.option('--yes', text);
}

/** What was shown is not done: exit code 1. */
export function unlessYes(done: string, does: string): Refused {
  return new Refused(`nothing was ${done}: --yes ${does}`);
}

/** Adds a noun, which has verbs and does nothing by itself. */
export function addNoun(program: Command, name: string, description: string): Command {
  return program.command(name).description(description).helpCommand(false);
}

/** For an option that may be given several times. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
