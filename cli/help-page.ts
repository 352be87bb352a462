import { Command, type Argument, type Option } from 'commander';
import type { Listed } from './command-list.js';

/** What is asked for by `NOUN VERB --help` alone; undefined for any other command line. */
export function helpAsked(program: Listed, args: readonly string[]): Listed | undefined {
  const [last = '', ...before] = args.toReversed();
  if (!['--help', '-h'].includes(last) || before.length === 0) return undefined;
  return before.reduceRight<Listed | undefined>(
    (at, word) => at?.commands.find(({ name }) => name === word),
    program,
  );
}

/** The help of a command, as wide as the terminal, from what is known of it: it is not loaded. */
export function renderHelp({ help, description, commands }: Listed): string {
  const shown = { visibleArguments: help.arguments, visibleOptions: help.options, visibleCommands: commands };
  // The library asks these for lists, and then for the texts of each member: what it gets is only handed back to it.
  const lists = Object.fromEntries(
    Object.entries(shown).map(([name, items]) => [
      name,
      () => items.map((item) => ({ ...item, helpGroup: () => ('heading' in item ? item.heading : '') })),
    ]),
  );
  const term = (item: unknown) => (item as Term).term;
  const text = (item: unknown) => (item as Term).description;
  return new Command()
    .configureHelp({
      ...lists,
      commandUsage: () => help.usage,
      commandDescription: () => description,
      argumentTerm: term as (item: Argument) => string,
      argumentDescription: text as (item: Argument) => string,
      optionTerm: term as (item: Option) => string,
      optionDescription: text as (item: Option) => string,
      subcommandTerm: term as (item: Command) => string,
      subcommandDescription: text as (item: Command) => string,
    })
    .helpInformation();
}

type Term = Listed['help']['options'][number];
