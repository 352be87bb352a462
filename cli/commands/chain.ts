import type { Command } from 'commander';
import { doctor } from '../../operator/doctor/diagnose.js';
import { readChain } from '../chain-argument.js';
import { withChain, withRpc, type RpcOptions } from '../rpc.js';
import { addNoun, Refused, say, type Terminal } from '../terminal.js';

export function addChain(program: Command, terminal: Terminal): void {
  const noun = addNoun(program, 'chain', 'Chains and their nodes');
  withRpc(noun.command('doctor'))
    .description('Compare the Chain of a manifest with its node, and print the YAML to change')
    .argument('<file>', 'a manifest with one Chain')
    .action(async (file: string, options: RpcOptions) => {
      const { spec } = readChain(file);
      const { found, yaml } = await withChain(terminal, options, spec.chainId, async (chain) => {
        // A node that does not answer says nothing about the Chain.
        await chain.chainId();
        return doctor(chain, spec);
      });
      if (found.length === 0) say(terminal, 'nothing found');
      for (const { level, field, message } of found) say(terminal, `${level.padEnd(7)} ${field}: ${message}`);
      terminal.out(yaml);
      if (found.some(({ level }) => level !== 'note')) throw new Refused();
    });
}
