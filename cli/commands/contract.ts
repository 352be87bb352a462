import type { Command } from 'commander';
import { act } from '../contract/act.js';
import { priceSteps } from '../contract/cost.js';
import { listFindings, readFacts } from '../contract/facts.js';
import { renderPlan, renderStatus } from '../contract/render.js';
import { missingSteps } from '../contract/steps.js';
import { actingVerbs, parseLevels, type Options, withLevels } from '../contract/verbs.js';
import { parseTarget, withContract } from '../contract/wanted.js';
import { withChain } from '../rpc.js';
import { addNoun, Refused, show, type Terminal, withFormat, withYes } from '../terminal.js';

/** Contracts of every layout: what is there, what is missing, and the transactions that bring it. */
export function addContract(program: Command, terminal: Terminal): void {
  const noun = addNoun(
    program,
    'contract',
    'Paymaster contracts: what is there, what is missing, how to bring it',
  );
  const verb = (name: string, description: string) =>
    withFormat(withContract(noun.command(name).description(description)));
  withLevels(verb('plan', 'Show every transaction that is missing, decoded, with its cost')).action(
    (options: Options) => plan(terminal, options),
  );
  withLevels(verb('status', 'Show what is there; exit code 1 if something is missing')).action(
    (options: Options) => status(terminal, options),
  );
  for (const each of actingVerbs)
    withYes(
      each.withOptions(verb(each.verb, `${each.description}. Shows the transaction; --yes sends it`)),
      'send it with the key of --key-file',
    )
      .option('--key-file <file>', 'private key of the sender; only its owner may read the file')
      .option('--safe <file>', 'write a file for the Transaction Builder of a Safe')
      .option('--max-gas-price <gwei>', 'send nothing while gas costs more', '100')
      .action((options: Options) => act(terminal, each, options));
}

async function plan(terminal: Terminal, options: Options): Promise<void> {
  const target = await parseTarget(options);
  const { wanted } = target;
  const levels = parseLevels(target, options);
  await withChain(terminal, options, wanted.chainId, async (chain) => {
    const facts = await readFacts(chain, wanted);
    const findings = listFindings(wanted, facts);
    const steps = findings.length === 0 ? missingSteps(wanted, levels, facts) : [];
    const costs = await priceSteps(chain, steps, wanted.from, facts);
    show(terminal, options.output, renderPlan({ wanted, facts, findings, steps, costs }));
    if (findings.length > 0) throw new Refused();
  });
}

async function status(terminal: Terminal, options: Options): Promise<void> {
  const target = await parseTarget(options);
  const { wanted, usualStake } = target;
  // Without an amount, any stake and any deposit will do.
  const levels = { deposit: 1n, ...parseLevels({ ...target, usualStake: usualStake ?? 1n }, options) };
  await withChain(terminal, options, wanted.chainId, async (chain) => {
    const facts = await readFacts(chain, wanted);
    const findings = listFindings(wanted, facts);
    const steps = facts.contract === undefined ? [] : missingSteps(wanted, levels, facts);
    show(terminal, options.output, renderStatus({ wanted, facts, findings, steps }));
    if (findings.length > 0 || steps.length > 0 || facts.contract === undefined) throw new Refused();
  });
}
