import { Argument, type Command } from 'commander';
import type { Terminal } from './terminal.js';

// The shells ask this program for what may come next, so that what they offer is never behind it. Where it offers nothing they
// complete names of files.

const scripts = {
  bash: `_paymaster() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _paymaster paymaster kubectl-paymaster
`,
  zsh: `#compdef paymaster kubectl-paymaster
_paymaster() {
  local -a offered
  offered=(\${(f)"$("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  (( \${#offered} )) && compadd -a offered || _files
}
compdef _paymaster paymaster kubectl-paymaster
`,
  fish: `complete -c paymaster -a '(paymaster complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
};
type Shell = keyof typeof scripts;
const shells = Object.keys(scripts) as readonly Shell[];

export function addCompletion(program: Command, terminal: Terminal): void {
  program
    .command('completion')
    .description('Print a script that completes commands, e.g. for bash: source <(paymaster completion bash)')
    .addArgument(new Argument('<shell>').choices(shells))
    .action((shell: Shell) => terminal.out(scripts[shell]));
  program.command('complete [words...]', { hidden: true }).action((words: readonly string[]) =>
    terminal.out(
      completionsOf(program, words)
        .map((word) => `${word}\n`)
        .join(''),
    ),
  );
}

/** What may stand in place of the last word, after the others. */
function completionsOf(program: Command, words: readonly string[]): readonly string[] {
  const [current = '', ...before] = words.toReversed();
  const command = before.toReversed().reduce(descend, program);
  return offersOf(command, before[0]).filter((offer) => offer.startsWith(current));
}

function descend(command: Command, word: string): Command {
  return command.commands.find((each) => each.name() === word) ?? command;
}

function offersOf(command: Command, previous: string | undefined): readonly string[] {
  const option = command.options.find(({ short, long }) => previous === short || previous === long);
  if (option !== undefined && !option.isBoolean()) return option.argChoices ?? [];
  const help = command.createHelp();
  return [
    ...help.visibleCommands(command).map((each) => each.name()),
    ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    ...help.visibleOptions(command).flatMap(({ long }) => long ?? []),
  ];
}
