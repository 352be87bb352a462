import { Argument, type Command } from 'commander';
import type { Terminal } from './terminal.js';

// The shells ask this program for what may come next (`complete`, in program.ts), so that what they offer is never behind it. Where it
// offers nothing they complete names of files.

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
}
