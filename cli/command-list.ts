import type { Command } from 'commander';

// What the program offers, as data. The build writes it beside the program, so that completion and help load no command.

type ListedOption = {
  readonly flags: readonly string[];
  /** Its possible values; absent: it takes none. */
  readonly values?: readonly string[];
};

type HelpItem = { readonly term: string; readonly description: string };

export type Listed = {
  readonly name: string;
  /** As help shows it, with its arguments. */
  readonly term: string;
  readonly description: string;
  readonly heading: string;
  readonly help: {
    readonly usage: string;
    readonly arguments: readonly HelpItem[];
    readonly options: readonly HelpItem[];
  };
  readonly options: readonly ListedOption[];
  /** Choices of its arguments. */
  readonly choices: readonly string[];
  readonly commands: readonly Listed[];
  /** Indexes of the rows of the table in program.ts that load it. */
  readonly rows?: readonly number[];
};

export function listCommand(command: Command, rows?: ReadonlyMap<string, readonly number[]>): Listed {
  const help = command.createHelp();
  return {
    name: command.name(),
    term: help.subcommandTerm(command),
    description: command.description(),
    heading: command.helpGroup(),
    help: {
      usage: help.commandUsage(command),
      arguments: help.visibleArguments(command).map((argument) => ({
        term: help.argumentTerm(argument),
        description: help.argumentDescription(argument),
      })),
      options: help.visibleOptions(command).map((option) => ({
        term: help.optionTerm(option),
        description: help.optionDescription(option),
      })),
    },
    options: help.visibleOptions(command).map((option) => ({
      flags: [option.short, option.long].filter((flag) => flag !== undefined),
      ...(!option.isBoolean() && { values: option.argChoices ?? [] }),
    })),
    choices: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    commands: help.visibleCommands(command).map((each) => {
      const of = rows?.get(each.name());
      return { ...listCommand(each), ...(of && { rows: of }) };
    }),
  };
}

/** What may stand in place of the last word, after the others: a line for each. */
export function completionLines(program: Listed, words: readonly string[]): string {
  const before = words.slice(0, -1);
  const command = before.reduce((at, word) => at.commands.find(({ name }) => name === word) ?? at, program);
  return listOffers(command, before.at(-1))
    .filter((offer) => offer.startsWith(words.at(-1) ?? ''))
    .map((offer) => `${offer}\n`)
    .join('');
}

function listOffers({ options, commands, choices }: Listed, previous: string | undefined): readonly string[] {
  const option = options.find(({ flags }) => previous !== undefined && flags.includes(previous));
  if (option?.values !== undefined) return option.values;
  return [
    ...commands.map(({ name }) => name),
    ...choices,
    ...options.flatMap(({ flags }) => flags.filter((flag) => flag.startsWith('--'))),
  ];
}
